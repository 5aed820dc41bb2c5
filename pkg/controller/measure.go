package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/release"
)

// measured are the conditions that the metrics have.
var measured = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionLocked, v1alpha1.ConditionDrifted, v1alpha1.ConditionContended,
	v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling,
}

// measure has the metrics say what a status says. A HelmRelease for a release that another one keeps says nothing: the
// samples are the release's.
func (c *Controller) measure(key string, v *view, s v1alpha1.HelmReleaseStatus) {
	if v.lock == nil && v.entry.problem.reason == v1alpha1.ReasonConflict {
		return
	}
	conditions := make(map[string]bool, len(measured))
	for _, kind := range measured {
		conditions[kind] = meta.IsStatusConditionTrue(s.Conditions, kind)
	}
	n := s.Objects
	c.update(key, func(*entry) { // not when it is forgotten by now
		c.Metrics.Release(v.entry.release, string(s.State), s.Revision > 0, metrics.Counts{
			Tracked: n.Tracked, Drifted: n.Drifted, Contended: n.Contended, Waiting: n.Waiting, Unmanaged: n.Unmanaged,
		}, conditions)
	})
}

// forgetMetrics removes what the metrics say of a release, unless another HelmRelease is for it, too.
func (c *Controller) forgetMetrics(key release.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.release == key {
			return
		}
	}
	c.Metrics.Forget(key)
}
