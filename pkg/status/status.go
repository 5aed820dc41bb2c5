// Package status decides the status of a HelmRelease: its conditions, counts and exceptions. It is pure: facts about a
// release and its lock go in, and a status comes out. The texts are for users, and name no value of a Secret.
package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
)

// Of returns the status of a HelmRelease, without its shard. live returns the range of the live autoscaler of an
// object; nil for none.
func (v *View) Of(hr *v1alpha1.HelmRelease, live func(manifest.ID) *judge.Range) v1alpha1.HelmReleaseStatus {
	s := v1alpha1.HelmReleaseStatus{
		ObservedGeneration: v.Generation, State: v.Decision.State,
		// Neutral, since they are shown: by kubectl, dashboards and this program.
		Description: plain.Cut(plain.Line(plain.Cut(v.Revision.Description, v1alpha1.MaxDescriptionBytes)),
			v1alpha1.MaxDescriptionBytes),
		Notes: plain.Cut(plain.Block(plain.Cut(v.Revision.Notes, v1alpha1.MaxNotesBytes)),
			v1alpha1.MaxNotesBytes),
		RecentDrift: v.Recent,
	}
	if v.Found {
		s.Version = v.Record.Revision
	}
	if !v.Decision.Since.IsZero() {
		since := metav1.NewTime(v.Decision.Since.UTC())
		s.TransitioningSince = &since
	}
	if w := v.Decision.Window; w != (lock.Span{}) {
		s.Window = &v1alpha1.WindowStatus{Start: metav1.NewTime(w.Start.UTC()), End: metav1.NewTime(w.End.UTC())}
	}
	if v.Lock != nil {
		s.Revision, s.Trust = v.Lock.Record.Revision, v.trust()
		s.Objects = v.Sum.ObjectCounts
		s.Exceptions = v.exceptions(live)
		if more := len(s.Exceptions) - v1alpha1.MaxExceptions; more > 0 {
			s.Exceptions, s.MoreExceptions = s.Exceptions[:v1alpha1.MaxExceptions], more
		}
	}
	for _, ids := range v.Waiting {
		s.Objects.Tracked += len(ids)
		s.Objects.Waiting += len(ids)
	}
	s.Objects.Tracked += len(v.Denials.Objects)
	s.Objects.Waiting += len(v.Denials.Objects)
	if v.Problem.Reason == v1alpha1.ReasonDecodeFailed || v.Problem.Reason == v1alpha1.ReasonManifestInvalid {
		s.State = v1alpha1.StateError
	}
	s.Conditions = conditions(hr, v)
	return s
}

// trust returns the trust in the record of the lock.
func (v *View) trust() *v1alpha1.TrustStatus {
	t := v.Lock.Trust.DeepCopy()
	if v.Lock.Doubt != "" && !v.Doubted {
		t.State, t.Message = v1alpha1.TrustStateComparing, ""
	}
	return t
}
