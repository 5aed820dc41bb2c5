package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/policy"
)

// errOvertaken says that a HelmRelease is not any more what the plan was made for: its event is on the way, and
// another plan with it.
var errOvertaken = errors.New("it has changed meanwhile")

// errUnchanged says that the API server keeps a HelmRelease in another form than it was written in.
var errUnchanged = errors.New("the API server has kept it in another form")

// write does what a result says. What has changed since the plan was made is left as it is.
func (ps *policies) write(r policy.Result) error {
	var err error
	switch r.Outcome {
	case policy.Create:
		var created *v1alpha1.HelmRelease
		if created, err = ps.clients.HelmReleases.Create(r.Desired.DeepCopy()); err == nil {
			ps.ownWrites.releases.wrote(created, ps.Clock.Now())
		}
	case policy.Update:
		err = ps.update(r)
	case policy.Delete:
		err = ps.clients.HelmReleases.Delete(r.Existing.Namespace, r.Existing.Name, &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &r.Existing.UID, ResourceVersion: &r.Existing.ResourceVersion}})
		if apierrors.IsNotFound(err) {
			return nil
		}
	}
	// A HelmRelease of that name that the cache does not show yet may be anybody's: the next plan says whose it is.
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errOvertaken
	}
	return err
}

// update writes what of a HelmRelease is to be another.
func (ps *policies) update(r policy.Result) error {
	if ps.ownWrites.refused(r.Existing, r.Desired) {
		return errUnchanged
	}
	patch, err := mergePatch(r.Existing, r.Desired)
	if err != nil {
		return fmt.Errorf("encode the changes of HelmRelease %s: %w", r.Existing.Name, err)
	}
	written, err := ps.clients.HelmReleases.Patch(r.Existing.Namespace, r.Existing.Name, types.MergePatchType, patch)
	if err != nil {
		return err
	}
	ps.ownWrites.releases.wrote(written, ps.Clock.Now())
	if !alike(written, r.Desired) {
		ps.ownWrites.refuse(written, r.Desired)
		ps.Log.WithField("helmrelease", keyOf(written)).Warn("the API server keeps the HelmRelease in another form " +
			"than its policy has it: is the CustomResourceDefinition an older one, or does a webhook change it?")
	}
	return nil
}

// mergePatch returns the merge patch that makes a HelmRelease as desired, if it is the one that is given.
func mergePatch(existing, desired *v1alpha1.HelmRelease) ([]byte, error) {
	before, err := json.Marshal(existing)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(desired)
	if err != nil {
		return nil, err
	}
	diff, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, err
	}
	only, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": existing.UID, "resourceVersion": existing.ResourceVersion}})
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergeMergePatches(diff, only)
}

// claimPolicy makes a policy this controller's, unless it is so already.
func (ps *policies) claimPolicy(p *v1alpha1.HelmReleasePolicy) error {
	if p.Annotations[v1alpha1.ManagedByAnnotation] == ps.Name {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.UID, "resourceVersion": p.ResourceVersion,
		"annotations": map[string]string{v1alpha1.ManagedByAnnotation: ps.Name},
	}})
	if err != nil {
		return fmt.Errorf("encode the claim of HelmReleasePolicy %s: %w", p.Name, err)
	}
	written, err := ps.clients.Policies.Patch(p.Namespace, p.Name, types.MergePatchType, patch)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return errOvertaken
	}
	if err != nil {
		return fmt.Errorf("claim HelmReleasePolicy %s: %w", p.Name, err)
	}
	ps.ownWrites.policies.wrote(written, ps.Clock.Now())
	return nil
}

// ownWrites are what this operator wrote lately. A plan that was made before the cache shows them would do the same
// again, and a rollout would move more than a batch. It is safe for concurrent use.
type ownWrites struct {
	releases written[*v1alpha1.HelmRelease]
	policies written[*v1alpha1.HelmReleasePolicy]

	mu sync.Mutex
	// kept are HelmReleases that the API server keeps in another form than they were written in.
	kept map[types.UID]kept
}

// kept is what was to be, and what it became.
type kept struct{ desired, became *v1alpha1.HelmRelease }

// alike reports whether two HelmReleases are the same in what a policy writes.
func alike(a, b *v1alpha1.HelmRelease) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Labels, b.Labels)
}

// refuse records that desired became written.
func (w *ownWrites) refuse(written, desired *v1alpha1.HelmRelease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept == nil {
		w.kept = map[types.UID]kept{}
	}
	w.kept[written.UID] = kept{desired, written}
}

// refused reports whether desired would become existing again.
func (w *ownWrites) refused(existing, desired *v1alpha1.HelmRelease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, found := w.kept[existing.UID]
	if found && alike(k.desired, desired) && alike(k.became, existing) {
		return true
	}
	delete(w.kept, existing.UID)
	return false
}

// written are objects of one kind as this operator wrote them, until the cache shows them. It is safe for concurrent
// use; the zero value is empty.
type written[T metav1.Object] struct {
	mu    sync.Mutex
	of    map[string]T // by name
	since map[string]time.Time
}

// unseenFor is how long an object that this operator wrote may be absent from the cache before it counts as deleted:
// a deletion that a gap of the watch hides has no event.
const unseenFor = 30 * time.Second

// wrote records an object as the API server has returned it.
func (w *written[T]) wrote(obj T, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of, w.since = map[string]T{}, map[string]time.Time{}
	}
	w.of[obj.GetName()], w.since[obj.GetName()] = obj, now
}

// gone is called for an object that the cache has seen deleted.
func (w *written[T]) gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(name)
}

// newest returns what a cache has, with what this operator wrote where the cache does not show that yet. An object that
// was never seen in the cache, and is not there after a while, was deleted.
func (w *written[T]) newest(cached []T, now time.Time) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]T, 0, len(cached))
	for _, obj := range cached {
		own, ok := w.of[obj.GetName()]
		if ok && own.GetUID() == obj.GetUID() && version(own) > version(obj) {
			all = append(all, own)
			delete(w.since, obj.GetName()) // its event will come
			continue
		}
		w.forget(obj.GetName())
		all = append(all, obj)
	}
	for name, own := range w.of {
		written, unseen := w.since[name]
		if !unseen {
			continue
		}
		if now.Sub(written) > unseenFor {
			w.forget(name)
			continue
		}
		all = append(all, own)
	}
	return all
}

// forget is called with w.mu held.
func (w *written[T]) forget(name string) {
	delete(w.of, name)
	delete(w.since, name)
}
