package controller

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Watches can be behind, and deliver nothing for a while. So before the operator restores the number of replicas,
// deletes an object or refuses a request, it asks the API server for reasons against it. No answer is a reason, too.

var helmReleasesGVR = v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.HelmReleaseResourceName)

// stillAsked reports whether the HelmRelease still asks for this lock, at a moment after the call. It is false when the
// HelmRelease has been deleted, suspended or edited.
func (c *common) stillAsked(ctx context.Context, l *lock.Lock) (bool, error) {
	namespace, name, _ := strings.Cut(l.Key, "/")
	// Use a list of one, because the operator has the permission to list HelmReleases, but not to get them.
	list, err := c.clients.Dynamic.Resource(helmReleasesGVR).Namespace(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	if err != nil {
		return false, fmt.Errorf("read HelmRelease %s: %w", l.Key, err)
	}
	if len(list.Items) == 0 {
		return false, nil
	}
	hr := &v1alpha1.HelmRelease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[0].Object, hr); err != nil {
		return false, fmt.Errorf("decode HelmRelease %s: %w", l.Key, err)
	}
	now := c.Clock.Now()
	d := lock.Decide(lock.Input{Spec: hr.Spec, Record: l.Record, Found: true, Storages: c.Storages, Now: now})
	return hr.DeletionTimestamp == nil && c.claimable(hr) && c.inShard(hr) && d.Lock &&
		equality.Semantic.DeepEqual(followed(hr.Spec, d, now), l.Spec), nil
}

// rescaled judges objects with a different number of replicas again, by the current autoscalers. It completes those
// that need no further work, and returns the others. It makes one list for all objects of a namespace.
func (cp *comparer) rescaled(ctx context.Context, l *lock.Lock, differing []*result) []*result {
	var rest []*result
	scaled := map[string][]*result{}
	for _, v := range differing {
		if v.in.Rescales(v.Found.Changes) {
			scaled[v.ID.Namespace] = append(scaled[v.ID.Namespace], v)
		} else {
			rest = append(rest, v)
		}
	}
	for namespace, results := range scaled {
		slot := cp.slots.write(ctx, l.Release)
		live, err := cp.inputs.Scalers.List(ctx, namespace)
		slot()
		if err != nil {
			cp.debug(l.Release).Debugf("numbers of replicas are left alone: %s", apierror.Safe(err))
		}
		judging, full := cp.slots.judging.Acquire(ctx, l.Release.Namespace)
		if full != nil { // the operator stops
			return nil
		}
		for _, v := range results {
			v.rejudge(live, err, cp.inputs.Trusts(l.Ignore, v.ID))
			v.logTo(cp.debug(l.Release))
			if outcome := cp.outcome(l, v); outcome != nil {
				cp.complete(l, v.Work, *outcome)
				continue
			}
			rest = append(rest, v)
		}
		judging()
	}
	return rest
}

// rejudge judges an object by the live autoscalers. live is nil when they are unknown because of err. The range of a
// manifest is known all the same.
func (v *result) rejudge(live *judge.Autoscalers, err error, trusted func(manifest.ID) bool) {
	if live == nil && v.in.Replicas != nil {
		return
	}
	v.unknown, v.in = err, v.in.Scaled(live, trusted)
	v.Found = judge.Judge(v.in)
}
