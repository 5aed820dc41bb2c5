package tamper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// restoresRefused changes objects so that the API server refuses their plain revert.
func (w *fixture) restoresRefused(t *testing.T, each forEach) {
	f := &forbidder{}
	each("RestoresBesideForbidding", func(t *testing.T, ch *chart, r *result) {
		// To write a definition takes long.
		shapes := w.shapesOf(t, slices.DeleteFunc(slices.Clone(ch.objects), (*object).isDefinition))
		w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error { return f.forbid(ctx, x, shapes[x.object]) })
		w.wantNoStrayWrites(t)
	})
	each("RestoresBesideRefused", func(t *testing.T, ch *chart, r *result) {
		w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error { return x.freeze(ctx) })
		w.wantNoStrayWrites(t)
		w.in(t, ch).WaitReady(ch.release, 0)
	})
}

// forbidder finds additions beside which the API server refuses a declared value. It tries each place of a kind once
// in the short form, and so other places of each object of the kind.
type forbidder struct{ tried sync.Map }

// dryRuns is how many places of one object are tried.
func dryRuns() int {
	if *full {
		return 400
	}
	return 15
}

// forbid makes every addition of its findings, each with the necessary change of a declared value. The whole object has
// to be as before.
func (f *forbidder) forbid(ctx context.Context, x *tampering, s shape) error {
	if s.schema == nil {
		return nil
	}
	places := s.places(x.before.Object)
	x.rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	left := dryRuns()
	for _, p := range places {
		siblings := x.siblings(p.path)
		if left == 0 || len(siblings) == 0 || !f.isNew(x, p) {
			continue
		}
		left--
		add := jsonPatch(operation{Op: "add", Path: drift.Pointer(p.path...), Value: p.value})
		if refused, err := x.refuses(ctx, add); err != nil || !refused {
			if err != nil {
				return err
			}
			continue
		}
		if err := f.pair(ctx, x, add, siblings); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether a place is tried: in the short form only once for each kind.
func (f *forbidder) isNew(x *tampering, p place) bool {
	if *full {
		return true
	}
	_, known := f.tried.LoadOrStore(mutation{what: x.declared.GetKind() + drift.Pointer(p.path...)}.alike(), true)
	return !known
}

// pair makes an addition with a change of the first declared sibling beside which the API server accepts it.
func (f *forbidder) pair(ctx context.Context, x *tampering, add request, siblings []kit.Tampering) error {
	for _, t := range siblings {
		m, err := x.generator(x.before).edit(forbidding, t)
		if err != nil {
			return err
		}
		for _, change := range m.requests {
			with := both(change, add)
			refused, err := x.refuses(ctx, with)
			if err != nil {
				return err
			}
			if refused {
				continue
			}
			m.what, m.requests = fmt.Sprintf("%s, with %s", m.what, add.body), []request{with}
			return x.edit(ctx, m)
		}
	}
	return nil
}

// siblings returns changes of up to three declared scalars in the map of a field, or below it, the nearest first.
func (x *tampering) siblings(path []string) []kit.Tampering {
	parent := path[:len(path)-1]
	found := slices.DeleteFunc(x.generator(x.before).shuffled(), func(t kit.Tampering) bool {
		return t.Remove || len(t.Path) <= len(parent) || !slices.Equal(t.Path[:len(parent)], parent) ||
			x.isMergeKey(t.Path) || x.generator(x.before).isExempt(t)
	})
	slices.SortStableFunc(found, func(a, b kit.Tampering) int { return len(a.Path) - len(b.Path) })
	return found[:min(len(found), 3)]
}

// refuses reports whether the API server refuses a request, by a dry run.
func (x *tampering) refuses(ctx context.Context, r request) (bool, error) {
	_, err := x.resource.Patch(ctx, x.name(), r.kind, r.body,
		metav1.PatchOptions{FieldManager: kit.Tamperer, DryRun: []string{metav1.DryRunAll}})
	if isRefusal(err) {
		return true, nil
	}
	return false, err
}

const managedBy = "/metadata/labels/app.kubernetes.io~1managed-by"

// freeze changes a value and a label of a ConfigMap or Secret, and makes it immutable. The label has to be as before;
// the value cannot, until the object is deleted.
func (x *tampering) freeze(ctx context.Context) error {
	if kind := x.declared.GetKind(); kind != "ConfigMap" && kind != "Secret" {
		return nil
	}
	values := slices.DeleteFunc(x.generator(x.before).shuffled(), func(t kit.Tampering) bool {
		return t.Remove || t.Path[0] != "data"
	})
	if _, declared := x.declared.Object["immutable"]; declared || len(values) == 0 {
		return nil
	}
	m, err := x.generator(x.before).edit(refusal, values[0])
	if err != nil {
		return err
	}
	for i, r := range m.requests {
		m.requests[i] = both(jsonPatch(operation{Op: "add", Path: "/immutable", Value: true},
			operation{Op: "replace", Path: managedBy, Value: "nobody"}), r)
	}
	done, err := x.send(ctx, m, x.content(x.before, same))
	if err != nil || done == nil {
		return err
	}
	version := done.GetResourceVersion()
	put(done.Object, drift.Change{Path: managedBy}.Segments(), "Helm")
	want := x.content(done, same)
	if err := x.restored(ctx, m, version, func(u *unstructured.Unstructured) string {
		return difference(want, x.content(u, same))
	}); err != nil {
		return err
	}
	return x.delete(ctx)
}

// noticesFights answers each revert of one object with another value, until the status names the writer.
func (w *fixture) noticesFights(t *testing.T, ch *chart, r *result) {
	for _, o := range ch.objects {
		labels := o.declared.GetLabels()
		delete(labels, "app.kubernetes.io/managed-by")
		if len(labels) == 0 || o.isDefinition() {
			continue
		}
		x, err := ch.on(t.Context(), o, r)
		check.NoError(t, err)
		w.noticesFight(t, ch, x, drift.Pointer("metadata", "labels", slices.Sorted(maps.Keys(labels))[0]))
		return
	}
}

func (w *fixture) noticesFight(t *testing.T, ch *chart, x *tampering, path string) {
	defer x.watch.watch.Stop()
	for n := range 10 {
		check.NoError(t, x.edit(t.Context(), mutation{class: answer, what: "answer a revert",
			requests: []request{jsonPatch(operation{Op: "replace", Path: path, Value: fmt.Sprintf("answer-%d", n)})}}))
	}
	c := w.in(t, ch).WaitReason(ch.release, v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected)
	for _, part := range []string{x.name(), kit.Tamperer} {
		check.That(t, strings.Contains(c.Message, part), "Contended of %s names no %s: %s", ch, part, c.Message)
	}
}
