package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rancher/helm-locker/tests/cluster"
)

// helmRelease is one release and the Helm that looks after it. One goroutine at a time works on it.
type helmRelease struct {
	name, namespace string
	helm            cluster.Helm
	flags           []string // of install and upgrade
	chart           string
	random          *rand.Rand
	marks           *atomic.Int64
	report          *report
	turn            chan struct{} // bounds the Helm commands that run at once
}

// run runs one Helm command.
func (r *helmRelease) run(ctx context.Context, args ...string) (string, error) {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-r.turn }()
	return r.helm.Run(ctx, append(args, "--namespace", r.namespace)...)
}

// values are flags that make this command's objects different from all others'.
func (r *helmRelease) values() []string {
	return []string{"--set-string", "mark=" + newMark(r.marks.Add(1)), "--set", fmt.Sprintf("configs=%d", 2+r.random.IntN(3))}
}

func (r *helmRelease) install(ctx context.Context, flags ...string) error {
	args := append(append([]string{"install", r.name, r.chart}, r.values()...), "--create-namespace")
	_, err := r.run(ctx, append(args, flags...)...)
	return err
}

func (r *helmRelease) upgrade(ctx context.Context) error {
	_, err := r.run(ctx, append(append([]string{"upgrade", r.name, r.chart, "--history-max", "5"}, r.values()...), r.flags...)...)
	return err
}

func (r *helmRelease) rollback(ctx context.Context) error {
	_, err := r.run(ctx, append([]string{"rollback", r.name, "--history-max", "5"}, r.flags...)...)
	return err
}

func (r *helmRelease) reinstall(ctx context.Context) error {
	if _, err := r.run(ctx, "uninstall", r.name); err != nil {
		return err
	}
	return r.install(ctx)
}

// work runs one Helm command, chosen at random. What fails, because somebody deleted an object under Helm's hands or the API
// server went away, is made good: until the release is deployed again, or ctx ends.
func (r *helmRelease) work(ctx context.Context) error {
	what, do := "upgrades", r.upgrade
	switch r.random.IntN(10) {
	case 0:
		what, do = "uninstalls and re-installs", r.reinstall
	case 1, 2:
		what, do = "rollbacks", r.rollback
	}
	err := do(ctx)
	if err == nil {
		r.report.count("helm: " + what)
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.report.count("helm: commands that failed (" + what + "), made good by the next ones")
	return r.recover(ctx)
}

// attempts is how often a release is tried to be made good; the faults between them end after seconds.
const attempts = 50

// recover makes the release deployed, in the way that an operator of releases would.
func (r *helmRelease) recover(ctx context.Context) error {
	var failed error
	for range attempts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if status, err := r.status(ctx); err == nil && status == "deployed" {
			return nil
		}
		if r.upgrade(ctx) == nil || r.rollback(ctx) == nil {
			continue
		}
		// Without a revision that was ever deployed, or in the middle of an uninstallation.
		_, uninstalled := r.run(ctx, "uninstall", r.name, "--ignore-not-found")
		// What is left of it may have been changed by somebody else while nothing was locked.
		if failed = errors.Join(uninstalled, r.install(ctx, append([]string{"--take-ownership"}, r.flags...)...)); failed != nil {
			r.report.count("helm: releases that took more than one attempt to be made good")
		}
	}
	return fmt.Errorf("release %s is not deployed after %d attempts: %w", r.name, attempts, failed)
}

// status returns the status of the newest revision; an error when there is none.
func (r *helmRelease) status(ctx context.Context) (string, error) {
	out, err := r.run(ctx, "status", r.name, "--output", "json")
	if err != nil {
		return "", err
	}
	var release struct {
		Info struct{ Status string }
	}
	if err := json.Unmarshal([]byte(out), &release); err != nil {
		return "", fmt.Errorf("helm status: %w", err)
	}
	return release.Info.Status, nil
}

// revision returns the number of the newest revision.
func (r *helmRelease) revision(ctx context.Context) (int, error) {
	out, err := r.run(ctx, "status", r.name, "--output", "json")
	if err != nil {
		return 0, err
	}
	var release struct{ Version json.Number }
	if err := json.Unmarshal([]byte(out), &release); err != nil {
		return 0, fmt.Errorf("helm status: %w", err)
	}
	return strconv.Atoi(release.Version.String())
}

// manifest returns what the newest revision declares.
func (r *helmRelease) manifest(ctx context.Context) ([]*unstructured.Unstructured, error) {
	out, err := r.run(ctx, "get", "manifest", r.name)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, doc := range strings.Split(out, "\n---") {
		u := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			return nil, fmt.Errorf("manifest of %s: %w", r.name, err)
		}
		if len(u.Object) > 0 {
			u.SetNamespace(r.namespace)
			all = append(all, u)
		}
	}
	return all, nil
}

// resourceOf returns the resource of an object of the chart.
func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	gvk := u.GroupVersionKind()
	return schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s"}
}
