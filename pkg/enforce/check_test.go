package enforce

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// drifted returns a revert of a ConfigMap.
func drifted() *Revert {
	object := func(value string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": value},
			"metadata": map[string]any{"namespace": "apps", "name": "web", "uid": "u", "resourceVersion": "5"}}
	}
	return &Revert{
		Object: &lock.Object{ID: manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: "web"}, Kind: &lock.Kind{Namespaced: true,
			GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}},
		Desired: object("one"), Live: &unstructured.Unstructured{Object: object("tampered")}, Target: object("one"),
		Owner: drift.Owner{Manager: "helm"},
	}
}

func TestNothingIsWrittenBeforeTheCheckHasPassed(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	noAnswer := errors.New("no answer")
	answers := map[string]struct {
		now  []*metav1.PartialObjectMetadata
		err  error
		want error
	}{
		"passed":               {now: []*metav1.PartialObjectMetadata{locked}},
		"an upgrade has begun": {now: []*metav1.PartialObjectMetadata{locked, secret("3", "u3", "30", "pending-upgrade")}, want: ErrNotNewest},
		"no answer":            {err: noAnswer, want: noAnswer},
	}
	writes := map[string]func(*writer, context.Context, *Revert, bool) error{
		"merge": func(w *writer, ctx context.Context, r *Revert, dryRun bool) error {
			_, err := w.merge(ctx, r, "helm", dryRun)
			return err
		},
		"apply": func(w *writer, ctx context.Context, r *Revert, dryRun bool) error {
			_, err := w.apply(ctx, r, dryRun)
			return err
		},
	}
	for name, tc := range answers {
		for how, write := range writes {
			t.Run(how+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &lister{items: tc.now, err: tc.err, gate: make(chan struct{})}
					p := l.prover(Omit{})
					defer p.Close()
					written := 0
					client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
					r := drifted()
					client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
						written++
						return true, r.Live, nil
					})
					w := &writer{client: client, prover: p}
					r.Check = newCheck(t.Context(), p, recordOf(t, locked))
					if err := write(w, t.Context(), r, true); err != nil || written != 1 {
						t.Fatalf("a dry run, which writes nothing, made %d requests and ended with %v", written, err)
					}
					done := make(chan error)
					go func() { done <- write(w, t.Context(), r, false) }()
					synctest.Wait()
					if written != 1 {
						t.Fatal("written before the record was read")
					}
					close(l.gate)
					err := <-done
					unchecked := (*UncheckedError)(nil)
					if passed := tc.want == nil; passed != (err == nil) || passed != (written == 2) ||
						!passed && (!errors.Is(err, tc.want) || !errors.As(err, &unchecked)) {
						t.Errorf("%d requests, ended with %v", written, err)
					}
				})
			})
		}
	}
}

// Who stops waiting is told so, and nothing is written.
func TestACheckThatNobodyWaitsForAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lister{gate: make(chan struct{})}
		p := l.prover(Omit{})
		r := drifted()
		r.Check = newCheck(t.Context(), p, recordOf(t, secret("2", "u2", "20", "deployed")))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := (&writer{prover: p}).merge(ctx, r, "helm", false)
		if unchecked := (*UncheckedError)(nil); !errors.As(err, &unchecked) || !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		close(l.gate)
		p.Close()
	})
}

// What is under way decides whether a mark is written at once: a drift whose patch is prepared beside its check is one, not two.
func TestACheckCountsOnceWithTheWriteThatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locked := secret("2", "u2", "20", "deployed")
		l := &lister{items: []*metav1.PartialObjectMetadata{locked}, gate: make(chan struct{})}
		p := l.prover(Omit{})
		defer p.Close()
		check := newCheck(t.Context(), p, recordOf(t, locked))
		synctest.Wait()
		if n := p.underWay.Load(); n != 0 {
			t.Errorf("%d under way for a check, which is counted with its write", n)
		}
		held := make(chan error)
		go func() {
			_, err := p.Holds(t.Context(), recordOf(t, locked))
			held <- err
		}()
		synctest.Wait()
		if n := p.underWay.Load(); n != 1 {
			t.Errorf("%d under way for a check by itself", n)
		}
		close(l.gate)
		if err := errors.Join(<-held, check.Passed(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// With a single processor, which is what an operator at rest has, the question is put before whoever asks goes on.
func TestTheCheckIsUnderWayBeforeWhatIsToBeDoneMeanwhile(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}}
	p := l.prover(Omit{})
	defer p.Close()
	const times = 100
	asked := 0
	for i := range times {
		check := newCheck(t.Context(), p, recordOf(t, locked))
		l.mu.Lock()
		if l.lists > i {
			asked++
		}
		l.mu.Unlock()
		if err := check.Passed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// Go's scheduler does not promise an order, and every now and then has another one.
	if asked < times/2 {
		t.Errorf("%d of %d questions were put at once", asked, times)
	}
}
