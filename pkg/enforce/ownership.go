package enforce

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
)

// finish makes Helm's manager, by server-side apply, the owner of the declared fields and of nothing else. After a
// write as managers.Revert it applies once more, and then it removes the shares of others. done is the object with the
// declared content.
func (w *writer) finish(
	ctx context.Context, r *Revert, done *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if managers.Unfinished(done.GetManagedFields()) {
		applied, err := w.applyExactly(ctx, r, done)
		if err != nil {
			return done, err
		}
		done = applied
	}
	owned, err := w.disown(ctx, r, done)
	if err != nil {
		return done, err
	}
	return owned, nil
}

// errOthersWrote means that ownership cannot be set because the content or the record has changed since.
var errOthersWrote = errors.New("the object or the record was changed before Helm owned all of it")

// applyExactly applies the present content of an object. The precondition is the version of our own last write, so the
// earlier checks still hold.
func (w *writer) applyExactly(
	ctx context.Context, r *Revert, done *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	now, last := done, *r
	for attempt := 1; ; attempt++ {
		last.Live, last.Target = now, now.Object
		exact, err := w.apply(ctx, &last, false)
		switch {
		case err == nil && attempt == 1:
			return exact, nil
		case err == nil:
			return adopt(done, now, exact), nil
		case !apierrors.IsConflict(err) || attempt == attempts:
			return nil, err
		}
		// A controller has written to the object: a Deployment gets its revision annotation. That is a new observation,
		// so the record has to be read again.
		if now, err = w.resource(r.Object).Get(ctx, r.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
		if now.GetUID() != done.GetUID() || !r.Content.Alike(now.Object, done.Object) {
			return nil, errOthersWrote
		}
		if holds, err := w.verifier.Holds(ctx, r.Record); err != nil || !holds {
			return nil, errors.Join(err, errOthersWrote)
		}
		// Another manager that has added to a map with one owner owns all of it now. Helm's manager owned the map
		// before, so an apply would still name it, and make the addition Helm's.
		if r.Owned != nil {
			last.Owned = now
		}
	}
}

// disown removes the shares of other managers in the fields that Helm's next apply sends, and all fields of
// managers.Revert. It comes after the apply: until then their share shows that Helm's manager lacks it. A user who
// applies a whole object with one changed field owns the rest of it together with Helm. Then the next helm upgrade with
// a change of that rest fails with a conflict.
//
// Controllers write to a new or changed object at once (a Deployment gets its revision annotation), so a conflict is
// the rule rather than the exception. Only ownership is written, so another attempt undoes no other write.
func (w *writer) disown(
	ctx context.Context, r *Revert, done *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	now := done
	for attempt := 1; ; attempt++ {
		entries, changed, err := r.withoutShares(now)
		if err != nil {
			return nil, fmt.Errorf("field ownership of %s: %w", r.Object, err)
		}
		if !changed {
			return done, nil
		}
		owned, err := w.send(ctx, Edit{Object: r.Object, Live: now, Manager: r.Manager, Operations: []Operation{
			{Op: "replace", Path: "/metadata/managedFields", Value: entries},
		}})
		switch {
		case err == nil && attempt == 1:
			return owned, nil
		case err == nil:
			return adopt(done, now, owned), nil
		case !apierrors.IsConflict(err) || attempt == attempts:
			return nil, err
		}
		if now, err = w.resource(r.Object).Get(ctx, r.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
		if now.GetUID() != done.GetUID() {
			return done, nil // another object by now; the watch delivers it
		}
	}
}

// shared returns the shares of other managers in the fields of Helm's next apply, and the fields of Helm's manager
// together with the shares that have no value.
func (r *Revert) shared(now *unstructured.Unstructured) (shares, own *fieldpath.Set, err error) {
	own = &fieldpath.Set{}
	entries := now.GetManagedFields()
	for i := range entries {
		if e := &entries[i]; managers.Applied(e, r.Manager) {
			if own, err = managers.Fields(e); err != nil {
				return nil, nil, err
			}
		}
	}
	shares, unset := r.Content.Shares(now, r.Manager)
	return shares, own.Union(unset), nil
}

// without returns the fields of a manager without some shares: those in the fields of Helm's manager, and in maps and
// lists whose parts the manager keeps. Any other field has been written since Helm's apply, and its owner shows that.
func without(fields, shares, own *fieldpath.Set) *fieldpath.Set {
	taken := &fieldpath.Set{}
	fields.Intersection(shares).Iterate(func(path fieldpath.Path) {
		if own.Has(path) || hasParts(fields, path) {
			taken.Insert(path.Copy())
		}
	})
	return fields.Difference(taken)
}

func hasParts(fields *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		fields = fields.WithPrefix(element)
	}
	return !fields.Empty()
}

// adopt returns done, the result of our last write of content, with the field ownership of owned. owned is the answer
// to a later write of ours, of ownership only, to the state now. Content and version stay those of done: later writes
// of others are not judged yet. If Helm has written in between, done stays as it is. Otherwise Helm's write would count
// as ours when the object is taken back.
func adopt(done, now, owned *unstructured.Unstructured) *unstructured.Unstructured {
	if !reflect.DeepEqual(helmEntries(now), helmEntries(done)) {
		return done
	}
	result := done.DeepCopy()
	result.SetManagedFields(owned.GetManagedFields())
	return result
}

// withoutShares returns the managed fields of the object without other managers' shares in the fields of Helm's
// manager, and whether that is a change. managers.Revert no longer owns anything.
func (r *Revert) withoutShares(now *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
	shares, own, err := r.shared(now)
	if err != nil {
		return nil, false, err
	}
	entries := now.GetManagedFields()
	out, changed := make([]metav1.ManagedFieldsEntry, 0, len(entries)), false
	for i := range entries {
		e := entries[i]
		if e.Manager == managers.Revert {
			changed = true
			continue
		}
		if managers.Applied(&e, r.Manager) || e.Subresource == "status" || e.FieldsV1 == nil {
			out = append(out, e)
			continue
		}
		set, err := managers.Fields(&e)
		if err != nil {
			return nil, false, err
		}
		rest := without(set, shares, own)
		if rest.Size() == set.Size() {
			out = append(out, e)
			continue
		}
		changed = true
		if rest.Empty() {
			continue
		}
		fields, err := rest.ToJSON()
		if err != nil {
			return nil, false, err
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(fields))
		out = append(out, e)
	}
	return out, changed, nil
}
