package teams

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
)

// pauseAnnotation is the annotation of a HelmRelease with the pause that a ReleaseLock got: the requested end and the
// granted one, separated by a slash. It is written in one request with the pause: no request is granted twice.
const pauseAnnotation = "teams.helm.cattle.io/pause"

// grant is a granted pause. The zero value is none.
type grant struct{ requested, until metav1.Time }

// String returns the value of the annotation.
func (g grant) String() string {
	return g.requested.UTC().Format(time.RFC3339) + "/" + g.until.UTC().Format(time.RFC3339)
}

// grantOf returns the grant of a HelmRelease. A malformed annotation is none.
func grantOf(hr *helm.HelmRelease) grant {
	requested, until, _ := strings.Cut(hr.Annotations[pauseAnnotation], "/")
	r, err := time.Parse(time.RFC3339, requested)
	if err != nil {
		return grant{}
	}
	u, err := time.Parse(time.RFC3339, until)
	if err != nil {
		return grant{}
	}
	return grant{metav1.NewTime(r), metav1.NewTime(u)}
}

// holds reports whether the pause of a HelmRelease is the granted one, or a shortened one.
func (g grant) holds(hr *helm.HelmRelease) bool {
	return !hr.Spec.Suspend && hr.Spec.SuspendUntil != nil && !hr.Spec.SuspendUntil.After(g.until.Time)
}

// answer is the answer to the pause that a ReleaseLock asks for.
type answer struct {
	// pause is the pause to write to the HelmRelease; nil for none.
	pause *grant
	// resume reports that the pause of the HelmRelease is to be removed. It was asked for by this ReleaseLock.
	resume bool
	// status is the pause in the status of the ReleaseLock; nil for none.
	status *v1alpha1.PauseStatus
}

// decide returns the answer to the pause that rl asks for. Each value of spec.pausedUntil is answered once: a pause
// that the platform team ends or changes in the HelmRelease stays as they left it. longest bounds a pause, from now.
func decide(rl *v1alpha1.ReleaseLock, hr *helm.HelmRelease, longest time.Duration, now time.Time) answer {
	asked, before, granted := wholeSeconds(rl.Spec.PausedUntil), rl.Status.Pause, grantOf(hr)
	switch {
	case asked == nil || !asked.After(now):
		return answer{resume: granted.holds(hr) && hr.Spec.SuspendUntil.After(now)}
	case granted.requested.Equal(asked):
		return answer{status: granted.status(hr, now)}
	case before != nil && before.Requested.Equal(asked): // refused, or the HelmRelease is another one
		message := before.Message
		if before.Until != nil {
			message = "ended by the platform team"
		}
		return answer{status: &v1alpha1.PauseStatus{Requested: *asked, Message: message}}
	}
	until := *asked
	if latest := metav1.NewTime(now.Add(longest).UTC().Truncate(time.Second)); until.After(latest.Time) {
		until = latest
	}
	if hr.Spec.Suspend || hr.Spec.SuspendUntil != nil && hr.Spec.SuspendUntil.After(until.Time) && !granted.holds(hr) {
		return answer{status: &v1alpha1.PauseStatus{Requested: *asked,
			Message: "the platform team has paused it already, " + ending(hr)}}
	}
	g := &grant{*asked, until}
	after := &helm.HelmRelease{}
	after.Spec.SuspendUntil = &until
	return answer{pause: g, status: g.status(after, now)}
}

// status returns the granted pause as the HelmRelease has it now.
func (g grant) status(hr *helm.HelmRelease, now time.Time) *v1alpha1.PauseStatus {
	s, until := &v1alpha1.PauseStatus{Requested: g.requested}, wholeSeconds(hr.Spec.SuspendUntil)
	switch {
	case !g.until.After(now):
		s.Message = "ended at " + g.until.UTC().Format(time.RFC3339)
	case g.holds(hr) && until.After(now):
		s.Until = until
		switch {
		case until.Before(&g.until):
			s.Message = "shortened by the platform team or by spec.pauses of a policy"
		case g.until.Before(&g.requested):
			s.Message = "the platform team allows no later end"
		}
	case hr.Spec.Suspend || until != nil && until.After(now):
		s.Message = "the platform team has paused it, " + ending(hr)
	default:
		s.Message = "ended by the platform team"
	}
	return s
}

// wholeSeconds returns a time as the API server stores it in a status. A spec keeps the fraction of a second that a
// user writes.
func wholeSeconds(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// ending describes the end of a HelmRelease's pause.
func ending(hr *helm.HelmRelease) string {
	if hr.Spec.Suspend || hr.Spec.SuspendUntil == nil {
		return "without an end"
	}
	return "until " + hr.Spec.SuspendUntil.UTC().Format(time.RFC3339)
}
