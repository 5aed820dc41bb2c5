package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// helmRelease is one release and the Helm that manages it. One goroutine at a time works on it.
type helmRelease struct {
	name, namespace string
	helm            cluster.Helm
	client          dynamic.Interface
	flags           []string // of install and upgrade
	chart           string
	random          *rand.Rand
	marks           *atomic.Int64
	report          *report
	log             io.Writer
	turn            chan struct{} // bounds the Helm commands that run at once
}

const (
	// helmTime is how long a Helm command may take: it has nothing to wait for but answers.
	helmTime = 2 * time.Minute
	// goodTime is how long it may take to make a release good; faults of the API server end after seconds.
	goodTime = 6 * time.Minute
)

// run runs one Helm command.
func (r *helmRelease) run(ctx context.Context, args ...string) (output string, err error) {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("helm %s for %s has to wait for other commands: %w", args[0], r.name, ctx.Err())
	}
	defer func() { <-r.turn }()
	err = within(ctx, helmTime, "helm "+args[0]+" for "+r.name, func(ctx context.Context) error {
		output, err = r.helm.Run(ctx, append(args, "--namespace", r.namespace)...)
		return err
	})
	return output, err
}

// change runs a Helm command that changes the release, and reports the reason of a failure.
func (r *helmRelease) change(ctx context.Context, args ...string) error {
	_, err := r.run(ctx, args...)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(r.log, "%s %s\n", time.Now().Format("15:04:05.000"), strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

// values are flags that give the command's objects a unique content.
func (r *helmRelease) values() []string {
	return []string{"--set-string", fmt.Sprintf("mark=m%dk", r.marks.Add(1)), "--set",
		fmt.Sprintf("configs=%d", 2+r.random.IntN(3))}
}

func (r *helmRelease) install(ctx context.Context, flags ...string) error {
	args := append(append([]string{"install", r.name, r.chart}, r.values()...), "--create-namespace")
	return r.change(ctx, append(args, flags...)...)
}

func (r *helmRelease) upgrade(ctx context.Context) error {
	return r.change(ctx, append(append([]string{"upgrade", r.name, r.chart, "--history-max", "5"}, r.values()...),
		r.flags...)...)
}

func (r *helmRelease) rollback(ctx context.Context) error {
	return r.change(ctx, append([]string{"rollback", r.name, "--history-max", "5"}, r.flags...)...)
}

func (r *helmRelease) reinstall(ctx context.Context) error {
	if err := r.change(ctx, "uninstall", r.name); err != nil {
		return err
	}
	return r.install(ctx)
}

// work runs one Helm command, chosen at random. After a failure, because an object was deleted during the command or
// the API server was down, it recovers until the release is deployed again, or ctx ends.
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

// recover makes the release deployed, as its administrator would.
func (r *helmRelease) recover(ctx context.Context) error {
	return within(ctx, goodTime, "making release "+r.name+" good", r.makeGood)
}

func (r *helmRelease) makeGood(ctx context.Context) error {
	var failed error
	for ctx.Err() == nil {
		if status, _, err := r.newest(ctx); err == nil && status == "deployed" {
			return nil
		}
		if r.upgrade(ctx) == nil || r.rollback(ctx) == nil {
			continue
		}
		// Without a revision that was ever deployed, or in the middle of an uninstallation.
		uninstalled := r.change(ctx, "uninstall", r.name, "--ignore-not-found")
		// Its remaining objects may have been changed while nothing was locked.
		cleared := r.clear(ctx)
		if failed = errors.Join(uninstalled, cleared,
			r.install(ctx, append([]string{"--take-ownership"}, r.flags...)...)); failed != nil {
			r.report.count("helm: releases that took more than one attempt to be made good")
		}
	}
	return errors.Join(ctx.Err(), failed)
}

// clear deletes objects taken from the release while nothing was locked. Helm does not uninstall them, and cannot
// always apply them again: a port with a changed number stays beside the declared one, and the API server refuses two
// ports of one name.
func (r *helmRelease) clear(ctx context.Context) error {
	for _, gvr := range resources() {
		client := r.client.Resource(gvr).Namespace(r.namespace)
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("what is left of %s: %w", r.name, err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			if !strings.HasPrefix(u.GetName(), releasePrefix) || r.owns(u) {
				continue // a record, or what Helm deletes and applies itself
			}
			if err := client.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil &&
				!apierrors.IsNotFound(err) {
				return fmt.Errorf("what is left of %s: %w", r.name, err)
			}
			r.report.count("helm: objects that were taken away from their release while it was not locked, and stood in its way")
		}
	}
	return nil
}

// owns reports whether Helm takes an object for one of the release.
func (r *helmRelease) owns(u *unstructured.Unstructured) bool {
	annotations := u.GetAnnotations()
	return u.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" && annotations["meta.helm.sh/release-name"] == r.name &&
		annotations["meta.helm.sh/release-namespace"] == r.namespace
}

// newest returns the status and the number of the newest revision; an error when there is none.
func (r *helmRelease) newest(ctx context.Context) (status string, revision int, err error) {
	out, err := r.run(ctx, "status", r.name, "--output", "json")
	if err != nil {
		return "", 0, err
	}
	var release struct {
		Version int
		Info    struct{ Status string }
	}
	if err := json.Unmarshal([]byte(out), &release); err != nil {
		return "", 0, fmt.Errorf("helm status: %w", err)
	}
	return release.Info.Status, release.Version, nil
}

// manifest returns the objects declared by the newest revision.
func (r *helmRelease) manifest(ctx context.Context) ([]*unstructured.Unstructured, error) {
	out, err := r.run(ctx, "get", "manifest", r.name)
	if err != nil {
		return nil, err
	}
	return objectsOf(out, r.namespace)
}
