package tamper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// leavesAdditions makes all additions of the generator in all objects of all charts, and reverses lists whose order
// is insignificant. The operator must neither touch them nor write because of them. In the end only the additions
// remain.
func (w *fixture) leavesAdditions(t *testing.T, results []*result) {
	w.proxy.Reset()
	for i, ch := range w.charts {
		w.onEach(t, ch, results[i], func(ctx context.Context, x *tampering) error { return x.addAll(ctx) })
	}
	before := map[*chart][]*unstructured.Unstructured{}
	for _, ch := range w.charts {
		before[ch] = snapshot(t, ch)
	}
	reversed := make([]map[*object]*reversal, len(w.charts))
	for i, ch := range w.charts {
		reversed[i] = w.reverseAll(t, ch, before[ch])
	}
	pause(t)
	for i, ch := range w.charts {
		now := snapshot(t, ch)
		for j, o := range ch.objects {
			want := before[ch][j]
			if r := reversed[i][o]; r != nil {
				want = r.done
			}
			remains := difference(o.content(want, same), o.content(now[j], same))
			results[i].leave(left, results[i].added[o], remains)
			if r := reversed[i][o]; r != nil {
				results[i].leave(leftOrder, r.n, remains)
				check.Report(t, r.undo(t.Context(), o))
			}
			check.Equal(t, remains, "", "%s of %s: what others added was touched", o, ch)
		}
	}
	w.wantNoWrites(t)
}

// pause waits for the time in which nothing may happen.
func pause(t *testing.T) {
	t.Helper()
	end := time.NewTimer(quiet())
	defer end.Stop()
	select {
	case <-end.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// addAll makes all additions to an object that damage no declared field, one beside the other.
func (x *tampering) addAll(ctx context.Context) error {
	live := x.before
	x.result.begin(x.object, live)
	for i := range x.generator(live).additions() {
		m := x.generator(live).additions()[i]
		if drift.ManagedBy(live.GetManagedFields()).Operation == metav1.ManagedFieldsOperationApply &&
			(strings.HasSuffix(m.what, "/spec/selector/added") || x.inDeclaredNull(m)) {
			// A selector has one owner, so the next revert of anything else in the Service takes it out, as Helm's own
			// apply would. An addition in the place of a declared null makes its author an owner of a field of Helm's.
			// The share is taken back, and the addition stays.
			continue
		}
		if m.class != left || x.isDefinition() && !*full && i > 0 {
			continue // to write a definition takes long, so one addition to each is enough for the short form
		}
		done, err := x.send(ctx, m, x.content(live, same))
		if err != nil {
			return err
		}
		if done != nil {
			live = done
			x.result.countAdded(x.object)
		}
	}
	return nil
}

// inDeclaredNull reports whether an addition is a declared null, or is in the place of one.
func (x *tampering) inDeclaredNull(m mutation) bool {
	_, path, _ := strings.Cut(m.what, " /")
	segments := drift.Change{Path: "/" + path}.Segments()
	for depth := range segments {
		if v, declared := at(x.declared.Object, segments[:depth+1]); declared && v == nil {
			return true
		}
	}
	return false
}

// reversal is the result of reversing an object's lists.
type reversal struct {
	before, done *unstructured.Unstructured
	paths        []string
	n            int
}

func (w *fixture) reverseAll(t *testing.T, ch *chart, live []*unstructured.Unstructured) map[*object]*reversal {
	t.Helper()
	found := map[*object]*reversal{}
	for i, o := range ch.objects {
		g := &generator{object: o, live: live[i]}
		for _, m := range g.reorders(false) {
			done, err := o.resource.Patch(t.Context(), o.name(), m.requests[0].kind, m.requests[0].body,
				metav1.PatchOptions{FieldManager: kit.Tamperer})
			if err != nil {
				continue // for a Job this is immutable
			}
			if found[o] == nil {
				found[o] = &reversal{before: live[i]}
			}
			found[o].done, found[o].n = done, found[o].n+1
			found[o].paths = append(found[o].paths, m.what[len("reverse "):])
		}
	}
	return found
}

// undo puts the lists in order again.
func (r *reversal) undo(ctx context.Context, o *object) error {
	var operations []operation
	for _, path := range r.paths {
		value, _ := at(r.before.Object, drift.Change{Path: path}.Segments())
		operations = append(operations, operation{Op: "replace", Path: path, Value: value})
	}
	_, err := o.resource.Patch(ctx, o.name(), types.JSONPatchType, jsonPatch(operations...).body,
		metav1.PatchOptions{FieldManager: kit.Tamperer})
	if err != nil {
		return fmt.Errorf("put %s in order: %w", o, err)
	}
	return nil
}

// inSelector reports whether a tampering changes a selector. A selector is restored as a whole, additions included.
func inSelector(t kit.Tampering) bool {
	return slices.ContainsFunc(t.Path, func(s string) bool { return strings.HasSuffix(strings.ToLower(s), "selector") })
}

// restoresBesideAdditions edits a declared scalar of every object and expects only that to be reverted.
func (w *fixture) restoresBesideAdditions(t *testing.T, ch *chart, r *result) {
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error {
		for _, tampering := range kit.Sample(x.generator(x.before).shuffled(), 40) {
			g := x.generator(x.before)
			if g.classOf(tampering) != scalar || g.isExempt(tampering) || inSelector(tampering) {
				continue
			}
			m, err := g.edit(beside, tampering)
			if err != nil {
				return err
			}
			return x.edit(ctx, m)
		}
		return nil
	})
}
