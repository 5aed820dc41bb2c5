package lock

import (
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Followed returns the part of a spec that a lock follows now. The suspension only decides whether there is a lock, an
// acceptance whether its record is trusted, and the end of an ignore rule whether it is there. Near the end of a pause
// the lock only reports.
func Followed(spec v1alpha1.HelmReleaseSpec, d Decision, now time.Time) v1alpha1.HelmReleaseSpec {
	if !d.Resumes.IsZero() {
		spec.Mode, spec.Guard = v1alpha1.ModeDetect, v1alpha1.GuardOff
	}
	spec.Suspend, spec.SuspendUntil, spec.Windows, spec.AcceptedRecord, spec.ExpectedWriters = false, nil, nil, "", nil
	spec.Ignore = spec.IgnoredAt(now)
	for i := range spec.Ignore {
		spec.Ignore[i].Until, spec.Ignore[i].Reason, spec.Ignore[i].By = nil, "", ""
	}
	return *spec.DeepCopy()
}
