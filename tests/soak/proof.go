package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// settleTime is how long everything may take to be as it should be after the load. Back-off after failures counts.
	settleTime = 3 * time.Minute
	// quietTime is how long nothing may be written.
	quietTime = 3 * time.Second
)

// prove waits until everything is as it should be, and proves it. What does not come to be is a failure of the run.
func (s *soakRun) prove(ctx context.Context) error {
	begun := time.Now()
	if err := s.operator.ensure(ctx); err != nil {
		return err
	}
	for _, r := range s.releases {
		if err := r.recover(ctx); err != nil {
			return err
		}
	}
	wrong := errors.New("not looked at yet")
	for time.Since(begun) < settleTime {
		if wrong = s.asDeclared(ctx); wrong == nil {
			break
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	if wrong != nil {
		s.report.fail("%s after the load, not everything is as it should be: %v", settleTime, wrong)
		return nil
	}
	settled := time.Since(begun)
	if err := s.quiet(ctx); err != nil {
		return err
	}
	if err := s.asDeclared(ctx); err != nil {
		s.report.fail("not any more as it should be, after a time in which nobody did anything: %v", err)
	}
	life, memory, err := s.operator.look()
	if err != nil {
		return err
	}
	goroutines, err := s.goroutines(ctx)
	if err != nil {
		return err
	}
	if after, _, err := s.operator.look(); err != nil || after != life {
		return err // it was started anew just now, on a machine that is too busy to renew a lease: nothing to compare
	}
	s.report.calm(calm{life: life, settled: settled, goroutines: goroutines, memory: memory.Now - memory.Program})
	return nil
}

// asDeclared says what is not as it should be; nil for nothing.
func (s *soakRun) asDeclared(ctx context.Context) error {
	for _, r := range s.releases {
		revision, err := r.revision(ctx)
		if err != nil {
			return err
		}
		hr, err := s.client.Resource(helmReleases).Namespace(operatorNamespace).Get(ctx, r.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		locked, _, err := unstructured.NestedInt64(hr.Object, "status", "revision")
		if err != nil || locked != int64(revision) || !isReady(hr) {
			return fmt.Errorf("HelmRelease %s is not Ready at revision %d: %v", r.name, revision, hr.Object["status"])
		}
		declared, err := r.manifest(ctx)
		if err != nil {
			return err
		}
		s.tamperer.learn(r.name, declared)
		if err := s.compare(ctx, r, declared); err != nil {
			return err
		}
	}
	return nil
}

// compare looks at every object of a release, and for objects that carry its name and are none.
func (s *soakRun) compare(ctx context.Context, r *helmRelease, declared []*unstructured.Unstructured) error {
	names := map[string]bool{}
	for _, want := range declared {
		gvr := resourceOf(want)
		names[gvr.Resource+"/"+want.GetName()] = true
		live, err := s.client.Resource(gvr).Namespace(r.namespace).Get(ctx, want.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		annotations := live.GetAnnotations()
		if live.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" || annotations["meta.helm.sh/release-name"] != r.name || annotations["meta.helm.sh/release-namespace"] != r.namespace {
			return fmt.Errorf("%s %s has lost Helm's metadata", gvr.Resource, want.GetName())
		}
		foldStringData(want)
		if at := differs(want.Object, live.Object, ""); at != "" {
			return fmt.Errorf("%s %s/%s differs from the manifest at %s", gvr.Resource, r.namespace, want.GetName(), at)
		}
	}
	for _, gvr := range resources() {
		list, err := s.client.Resource(gvr).Namespace(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.GetAnnotations()["meta.helm.sh/release-name"] == r.name && !names[gvr.Resource+"/"+u.GetName()] {
				return fmt.Errorf("%s %s/%s says it is of the release, which does not declare it", gvr.Resource, r.namespace, u.GetName())
			}
		}
	}
	return nil
}

// differs returns where live lacks what is declared; empty for nowhere. Lists have the same length: nobody adds to those of the
// chart for good but a tamperer.
func differs(declared, live any, at string) string {
	switch d := declared.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return at
		}
		for key, value := range d {
			if found := differs(value, l[key], at+"/"+key); found != "" {
				return found
			}
		}
		return ""
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(d) {
			return at
		}
		for i := range d {
			if found := differs(d[i], l[i], at+"/"+strconv.Itoa(i)); found != "" {
				return found
			}
		}
		return ""
	}
	if fmt.Sprint(declared) != fmt.Sprint(live) { // 80 is 80, whether a decoder takes it for an integer or not
		return at
	}
	return ""
}

// foldStringData turns the stringData of a Secret into data, as the API server does.
func foldStringData(u *unstructured.Unstructured) {
	texts, found, err := unstructured.NestedStringMap(u.Object, "stringData")
	if !found || err != nil {
		return
	}
	data := map[string]any{}
	for key, text := range texts {
		data[key] = base64Of(text)
	}
	unstructured.RemoveNestedField(u.Object, "stringData")
	u.Object["data"] = data
}

func isReady(u *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// quiet waits until nothing is written for a time, apart from leases. Reports of what was done last may still be on their way.
func (s *soakRun) quiet(ctx context.Context) error {
	var written []string
	for range 10 {
		s.proxy.Reset()
		if err := wait(ctx, quietTime); err != nil {
			return err
		}
		written = nil
		for _, w := range s.proxy.Writes() {
			if w.Resource() != "leases" {
				written = append(written, w.String())
			}
		}
		if len(written) == 0 {
			return nil
		}
	}
	s.report.fail("the operator goes on writing at rest: %s", strings.Join(written, "; "))
	return nil
}

// goroutines returns how many goroutines the operator has.
func (s *soakRun) goroutines(ctx context.Context) (n int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("metrics of the operator: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("metrics of the operator: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("metrics of the operator: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, "go_goroutines "); found {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("the operator does not tell how many goroutines it has")
}
