package cli

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/report"
)

// Levels of findings, from harmless to a lack of protection.
const (
	levelOK      = "ok"
	levelNote    = "note"
	levelWarning = "warning"
	levelError   = "error"
)

// finding is one result of check.
type finding struct {
	Level   string `json:"level"`
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Advice is the remedy; empty where none is needed.
	Advice string `json:"advice,omitempty"`
}

// unreadable is the finding for a failed read.
func unreadable(subject string, err error) finding {
	hints := hintsFor(command.Program, err)
	f := finding{Level: levelWarning, Subject: subject, Message: err.Error()}
	if len(hints) > 0 {
		f.Advice = hints[0]
	}
	return f
}

// unknown is the finding for a failed read without which no user knows whether releases are protected.
func unknown(subject string, err error) finding {
	f := unreadable(subject, err)
	f.Level, f.Message = levelError, "it is not known whether releases are protected: "+f.Message
	return f
}

func lockFinding(hr *v1alpha1.HelmRelease, now time.Time) finding {
	f := finding{Level: levelOK, Subject: fmt.Sprintf("HelmRelease %s/%s", hr.Namespace, hr.Name)}
	ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
	name := fmt.Sprintf("%s -n %s", hr.Spec.Release.Name, hr.Spec.Release.Namespace)
	details := command.Program + " status " + name + " shows more"
	switch {
	case ready == nil:
		f.Level, f.Message = levelError, "no operator has taken it up"
		f.Advice = "an operator takes up the HelmReleases of its own namespace: move it there, or run one in namespace " +
			hr.Namespace
	case ready.Reason == v1alpha1.ReasonInWindow: // as it is wanted
	case report.LockState(hr, now) == report.LockedSuspended:
		_, _, since := report.Ready(hr)
		f.Level, f.Message = levelWarning, fmt.Sprintf("release %s has been suspended for %s,%s, and is not protected",
			hr.Spec.Release, report.Age(since, now), report.SuspendedFor(hr))
		f.Advice = command.Program + " resume " + name + " ends it"
	case meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionStalled):
		f.Level, f.Message = levelError, ready.Reason+": "+ready.Message
		f.Advice = details
		switch ready.Reason {
		case v1alpha1.ReasonRecordNotTrusted:
			if trust := hr.Status.Trust; trust != nil && trust.Message != "" { // without the advice of the condition
				f.Message = ready.Reason + ": " + trust.Message
			}
			f.Advice = command.Program + " accept " + name + " shows what it would do, and accepts it; or have it deployed by a user with the rights"
		case v1alpha1.ReasonForbidden:
			f.Advice = "let the account do what the release takes, which this prints: " + command.Program + " rbac " + name
		}
	case isHeld(hr):
		f.Level, f.Message = levelWarning, fmt.Sprintf("the rollout of policy %s holds it in mode Detect because of drift: %s",
			hr.Labels[v1alpha1.PolicyLabel], ready.Message)
		f.Advice = command.Program + " enforce " + name + " shows and reverts the drift"
	case ready.Status != metav1.ConditionTrue:
		f.Level, f.Message = levelWarning, ready.Reason+": "+ready.Message
		f.Advice = details
		switch ready.Reason {
		case teams.ReasonOperatorNotRunning:
			f.Advice = "start the operator; " + command.Program + " check shows more"
		case v1alpha1.ReasonSecretNotFound:
			f.Advice = "install it with Helm, or end its lock: " + command.Program + " unlock " + name
		}
	case report.GuardMissing(hr):
		f.Level = levelWarning
		f.Message = "its guard is not in force, so changes are only reverted"
		if guarded := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionGuarded); guarded != nil {
			f.Message += ": " + guarded.Message
		}
		f.Advice = details
	case isFlagged(hr):
		f.Level = levelWarning
		f.Message = meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter).Message
		f.Advice = command.Program + " accept " + name + " accepts that record"
	}
	return f
}

func policyFinding(p *v1alpha1.HelmReleasePolicy) finding {
	f := finding{Level: levelOK, Subject: fmt.Sprintf("HelmReleasePolicy %s/%s", p.Namespace, p.Name)}
	switch ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); {
	case ready == nil:
		f.Level, f.Message = levelError, "it is not followed"
		f.Advice = command.Program + " policies follows those of its own namespace (policies.enabled in the chart): move it " +
			"there, or run that process in namespace " + p.Namespace
	case ready.Status != metav1.ConditionTrue:
		f.Level, f.Message = levelWarning, ready.Reason+": "+ready.Message
		if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) {
			f.Level = levelError
		}
	case p.Status.Releases.Matched == 0:
		f.Level, f.Message = levelWarning, "it matches no release"
		f.Advice = "compare spec.match with the namespaces and labels of the releases: helm list -A"
	case p.Status.Rollout != nil && p.Status.Rollout.Held > 0:
		f.Level, f.Message = levelNote, "its rollout waits: "+p.Status.Rollout.Message
	case policy.OwnRights(p) && p.Spec.AcceptRecordsOfAnyone:
		f.Level, f.Message = levelNote, policy.Rights(p)
	}
	return f
}
