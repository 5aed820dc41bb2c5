package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"

	"github.com/rancher/helm-locker/pkg/plain"
)

// Progress is the result of carrying a plan out, for one policy.
type Progress struct {
	// Failure is why a HelmRelease could not be written; empty when all could.
	Failure Problem
	// Pending is set while there is more to do, without anybody's help.
	Pending bool
}

// Status returns the status of a policy. Unchanged conditions keep their times.
func (s *Summary) Status(p Progress, shard string, now time.Time) v1alpha1.HelmReleasePolicyStatus {
	status := v1alpha1.HelmReleasePolicyStatus{
		ObservedGeneration: s.Policy.Generation, Shard: shard, Releases: s.Counts, Rollout: s.Rollout,
		Conditions: slices.Clone(s.Policy.Status.Conditions),
	}
	set := func(kind string, holds bool, problem Problem) {
		value := metav1.ConditionFalse
		if holds {
			value = metav1.ConditionTrue
		}
		message := problem.Message
		if len(message) > v1alpha1.MaxConditionMessageBytes {
			message = strings.ToValidUTF8(message[:v1alpha1.MaxConditionMessageBytes-3], "") + "…"
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: kind, Status: value, Reason: problem.Reason,
			Message: message, ObservedGeneration: s.Policy.Generation,
			LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second))})
	}
	ready, why := s.ready(p)
	set(v1alpha1.ConditionReady, ready, why)
	if len(s.Others) > 0 {
		set(v1alpha1.ConditionOverlapping, true, Problem{v1alpha1.ReasonOtherPolicy, fmt.Sprintf(
			"%d of %s matched more specifically by other policies: %s", s.Counts.OtherPolicy,
			plain.Count(s.Counts.Matched, "release"), plain.Names(s.Others, plain.MaxNamed))})
	} else {
		set(v1alpha1.ConditionOverlapping, false, Problem{v1alpha1.ReasonNoOverlap,
			"no other policy has a release that this one matches"})
	}
	for kind, applies := range map[string]bool{
		v1alpha1.ConditionStalled:     !ready && stalls(why.Reason),
		v1alpha1.ConditionReconciling: !ready && !stalls(why.Reason),
	} {
		if applies {
			set(kind, true, why)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	return status
}

// ready reports whether a policy is in the state required by its spec, and its main problem if not.
func (s *Summary) ready(p Progress) (bool, Problem) {
	over, most := s.Counts.OverBound, s.Policy.Spec.MaxReleases
	switch {
	case s.Problem.Reason != "":
		return false, Problem{s.Problem.Reason, s.Problem.Message +
			"; what the policy locked stays locked, and nothing new is"}
	case p.Failure.Reason != "":
		return false, p.Failure
	case p.Pending:
		return false, Problem{v1alpha1.ReasonApplying, "HelmReleases are being made, changed or deleted"}
	case s.OwnRights && !s.Policy.Spec.AcceptRecordsOfAnyone:
		return false, s.acceptance()
	case over > 0:
		return false, Problem{v1alpha1.ReasonTooManyReleases, fmt.Sprintf(
			"%d of %s not locked: spec.maxReleases is %d", over, plain.Count(s.Counts.Matched, "matching release"),
			most)}
	case s.Counts.NameTaken > 0:
		return false, Problem{v1alpha1.ReasonNameTaken, fmt.Sprintf(
			"%s not locked, because HelmReleases for other releases have the names: %s",
			plain.Count(s.Counts.NameTaken, "release"), plain.Names(s.Taken, plain.MaxNamed))}
	case s.Rollout != nil && s.Rollout.State == v1alpha1.RolloutStopped:
		return false, Problem{v1alpha1.ReasonRolloutStopped,
			"no more releases move to mode Enforce: " + s.Rollout.Message}
	}
	return true, Problem{v1alpha1.ReasonApplied, s.applied()}
}

// applied describes the effect of a ready policy.
func (s *Summary) applied() string {
	c := s.Counts
	text := fmt.Sprintf("%s made for %s, mode %s",
		plain.Count(c.Made, "HelmRelease"), plain.Count(c.Matched, "matching release"),
		modeOf(s.Policy))
	if account := s.Policy.Spec.Template.Spec.ServiceAccountName; account != "" {
		text += " as ServiceAccount " + account + " of each namespace"
	} else if s.OwnRights {
		text += " with the operator's own rights"
	}
	if s.Rollout != nil && s.Rollout.Waiting > 0 {
		text += fmt.Sprintf(" (%d still in Detect%s)", s.Rollout.Waiting, heldText(s.Rollout.Held))
	}
	for _, left := range []struct {
		n   int
		why string
	}{
		{c.HandWritten, "by HelmReleases written by hand"}, {c.OtherPolicy, "by other policies"},
	} {
		if left.n > 0 {
			text += fmt.Sprintf("; %d locked %s", left.n, left.why)
		}
	}
	if c.OperatorNamespace > 0 {
		text += fmt.Sprintf("; %d in the operator's own namespace left out", c.OperatorNamespace)
	}
	return text
}

// heldText is the part about held releases of a text about waiting ones; empty for none.
func heldText(held int) string {
	if held == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them held because of drift", held)
}

// stalls reports whether only a user's action ends a reason.
func stalls(reason string) bool {
	switch reason {
	case v1alpha1.ReasonInvalidPolicy, v1alpha1.ReasonAcceptanceRequired, v1alpha1.ReasonTooManyReleases,
		v1alpha1.ReasonNameTaken, v1alpha1.ReasonForbidden, v1alpha1.ReasonRolloutStopped:
		return true
	}
	return false
}
