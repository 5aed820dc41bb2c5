package reporting

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/release"
)

// measured are the conditions in the metrics.
var measured = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionLocked, v1alpha1.ConditionDrifted, v1alpha1.ConditionContended,
	v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling,
}

// measure copies a status to the metrics. A HelmRelease for a release that another one keeps has no samples: they are
// the release's.
func (rep *Reporter) measure(key string, v *View, s v1alpha1.HelmReleaseStatus) {
	if v.Lock == nil && v.Problem.Reason == v1alpha1.ReasonConflict {
		return
	}
	conditions := make(map[string]bool, len(measured))
	for _, kind := range measured {
		conditions[kind] = meta.IsStatusConditionTrue(s.Conditions, kind)
	}
	conditions[v1alpha1.ReasonRecordNotTrusted] = s.Trust != nil && s.Trust.State == v1alpha1.TrustStateNotTrusted
	unexpected := meta.IsStatusConditionFalse(s.Conditions, v1alpha1.ConditionExpectedWriter)
	conditions[v1alpha1.ReasonUnexpectedWriter] = unexpected
	if guarded := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionGuarded); guarded != nil {
		conditions[v1alpha1.ConditionGuarded] = guarded.Status == metav1.ConditionTrue
	}
	state := metrics.State{Name: s.State,
		Locked: v.Protected(), Conditions: conditions, Objects: s.Objects}
	locked := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionLocked)
	if locked != nil && locked.Reason == v1alpha1.ReasonSuspended {
		state.SuspendedSince = locked.LastTransitionTime.Time
	}
	rep.Ledger.Update(key, func(*ledger.Entry) { // not when it is forgotten by now
		rep.Metrics.Release(v.Release, state)
	})
}

// ForgetMetrics removes the metrics of a release, unless another HelmRelease is for it, too.
func (rep *Reporter) ForgetMetrics(key release.Key) {
	named := false
	rep.Ledger.Each(func(_ string, e *ledger.Entry) { named = named || e.Release == key })
	if !named {
		rep.Metrics.Forget(key)
	}
}
