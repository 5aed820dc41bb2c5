package teams

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
)

// answer is the answer to the pause that a ReleaseLock asks for.
type answer struct {
	// pause is the end of the pause to write to the HelmRelease; nil for none.
	pause *metav1.Time
	// resume reports that the pause of the HelmRelease is to be removed. It was asked for by this ReleaseLock.
	resume bool
	// status is the pause in the status of the ReleaseLock; nil for none.
	status *v1alpha1.PauseStatus
}

// decide returns the answer to the pause that rl asks for. Each value of spec.pausedUntil is answered once: a pause
// that the platform team ends or changes in the HelmRelease stays as they left it. longest bounds a pause, from now.
func decide(rl *v1alpha1.ReleaseLock, hr *helm.HelmRelease, longest time.Duration, now time.Time) answer {
	asked, before := rl.Spec.PausedUntil, rl.Status.Pause
	switch {
	case asked == nil || !asked.After(now):
		return answer{resume: isOurs(before, hr) && hr.Spec.SuspendUntil.After(now)}
	case before != nil && before.Requested.Equal(asked):
		return answer{status: observed(before, hr, now)}
	}
	status := &v1alpha1.PauseStatus{Requested: *asked}
	until := *asked
	if latest := now.Add(longest).UTC().Truncate(time.Second); until.After(latest) {
		until = metav1.NewTime(latest)
		status.Message = fmt.Sprintf("a pause lasts %s at most", longest)
	}
	if hr.Spec.Suspend || hr.Spec.SuspendUntil != nil && hr.Spec.SuspendUntil.After(until.Time) && !isOurs(before, hr) {
		status.Message = "the platform team has paused it already, " + ending(hr)
		return answer{status: status}
	}
	status.Until = &until
	return answer{pause: &until, status: status}
}

// isOurs reports whether the pause of a HelmRelease is the one that a ReleaseLock got.
func isOurs(p *v1alpha1.PauseStatus, hr *helm.HelmRelease) bool {
	return p != nil && p.Until != nil && !hr.Spec.Suspend && hr.Spec.SuspendUntil != nil &&
		hr.Spec.SuspendUntil.Equal(p.Until)
}

// observed returns the status of a pause that was answered before, as the HelmRelease has it now.
func observed(before *v1alpha1.PauseStatus, hr *helm.HelmRelease, now time.Time) *v1alpha1.PauseStatus {
	if before.Until == nil || isOurs(before, hr) && before.Until.After(now) {
		return before
	}
	after := &v1alpha1.PauseStatus{Requested: before.Requested}
	switch until := hr.Spec.SuspendUntil; {
	case !before.Until.After(now):
		after.Message = "ended at " + before.Until.UTC().Format(time.RFC3339)
	case until != nil && until.Before(before.Until) && until.After(now) && !hr.Spec.Suspend:
		after.Until, after.Message = until, "shortened by the platform team or by spec.pauses of a policy"
	case hr.Spec.Suspend || until != nil && until.After(now):
		after.Message = "the platform team has paused it, " + ending(hr)
	default:
		after.Message = "ended by the platform team"
	}
	return after
}

// ending describes the end of a HelmRelease's pause.
func ending(hr *helm.HelmRelease) string {
	if hr.Spec.Suspend || hr.Spec.SuspendUntil == nil {
		return "without an end"
	}
	return "until " + hr.Spec.SuspendUntil.UTC().Format(time.RFC3339)
}
