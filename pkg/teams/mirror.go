package teams

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
)

// shown are the types of the conditions in a ReleaseLock.
var shown = [...]string{helm.ConditionReady, helm.ConditionLocked, helm.ConditionDrifted, helm.ConditionContended,
	helm.ConditionGuarded}

// mirror returns the status of a ReleaseLock of a HelmRelease. Changes of objects outside of the namespace of the
// release, and the messages that list drifted objects, are left out. The pause is not set. Nothing is locked after the
// end of the operator; nil while it runs.
func mirror(hr *helm.HelmRelease, ended *stop) v1alpha1.ReleaseLockStatus {
	s := v1alpha1.ReleaseLockStatus{
		HelmRelease: &v1alpha1.HelmReleaseReference{Namespace: hr.Namespace, Name: hr.Name},
		State:       hr.Status.State, Revision: hr.Status.Revision, Mode: hr.Spec.Mode, Guard: hr.Spec.Guard,
		Objects: hr.Status.Objects,
	}
	for _, kind := range shown {
		found := meta.FindStatusCondition(hr.Status.Conditions, kind)
		if found == nil {
			continue
		}
		cond := metav1.Condition{Type: found.Type, Status: found.Status, Reason: found.Reason,
			LastTransitionTime: found.LastTransitionTime}
		switch {
		case ended != nil && (kind == helm.ConditionLocked || kind == helm.ConditionReady):
			cond.Status, cond.Reason = metav1.ConditionUnknown, v1alpha1.ReasonOperatorNotRunning
			cond.Message = ended.text + "; the release is not protected now, and this status is from then"
			cond.LastTransitionTime = metav1.NewTime(ended.seen)
		case kind == helm.ConditionLocked:
			cond.Message = found.Message
		}
		s.Conditions = append(s.Conditions, cond)
	}
	for _, d := range hr.Status.RecentDrift {
		if d.Object.Namespace == hr.Spec.Release.Namespace {
			s.RecentDrift = append(s.RecentDrift, d)
		}
	}
	return s
}

// choose returns the HelmRelease whose lock a ReleaseLock shows, of those that name its release: the locked one, or
// else the oldest. It returns nil for none.
func choose(of []*helm.HelmRelease) *helm.HelmRelease {
	if len(of) == 0 {
		return nil
	}
	return slices.MinFunc(of, func(a, b *helm.HelmRelease) int {
		return cmp.Or(rank(a)-rank(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name))
	})
}

func rank(hr *helm.HelmRelease) int {
	if meta.IsStatusConditionTrue(hr.Status.Conditions, helm.ConditionLocked) {
		return 0
	}
	return 1
}
