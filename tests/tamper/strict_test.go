package tamper

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// removesAdditions turns scope Strict on. The existing additions have to be removed, and then every new one.
func (w *fixture) removesAdditions(t *testing.T, ch *chart, r *result) {
	w.beStrict(t, ch)
	var standing atomic.Int32
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error {
		wait := patience
		if standing.Load() > 0 {
			wait = 0 // it has been waited for beside another object
		}
		remains, err := x.becomes(r.baseline[x.object], wait)
		if err != nil || remains == "" {
			return err
		}
		standing.Add(1)
		t.Errorf("%s: what was added before scope Strict is still there: %s", x, remains)
		x.before = r.baseline[x.object]
		return x.repair(ctx)
	})
	if n := standing.Load(); n > 0 {
		t.Errorf("%d of %d objects keep additions, so no others are made", n, len(ch.objects))
		return
	}
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error {
		g := x.generator(x.before)
		for _, m := range g.some(g.additions(), x.size.of(strict)) {
			if m.class != left {
				continue
			}
			m.class = strict
			if err := x.edit(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	w.wantNoStrayWrites(t)
}

// beStrict turns scope Strict on.
func (w *fixture) beStrict(t *testing.T, ch *chart) {
	t.Helper()
	env := w.in(t, ch)
	w.proxy.Reset()
	env.PatchHelmRelease(ch.release, `{"spec":{"scope":"Strict"}}`)
	env.Eventually("scope Strict of "+ch.release+" is in force", func() error {
		hr := env.HelmRelease(ch.release)
		if hr.Spec.Scope != v1alpha1.ScopeStrict || hr.Status.ObservedGeneration != hr.Generation {
			return fmt.Errorf("generation %d of %d is observed", hr.Status.ObservedGeneration, hr.Generation)
		}
		return nil
	})
}

// becomes waits until the object is as wanted, and returns the differences after the timeout.
func (x *tampering) becomes(want *unstructured.Unstructured, wait time.Duration) (remains string, err error) {
	differs := func(u *unstructured.Unstructured) string {
		return difference(x.content(want, same), x.content(u, same))
	}
	if remains = differs(x.before); remains == "" {
		return "", nil
	}
	_, after, err := x.watch.until(x.before.GetResourceVersion(), wait, differs)
	if err != nil || after == "" {
		return "", err
	}
	return remains, nil
}
