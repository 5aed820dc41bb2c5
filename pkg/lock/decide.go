package lock

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// stuckAfter is the time after which a pending or uninstalling revision is reported as stuck. Helm's own default
// timeout for an operation is five minutes, a third of that.
const stuckAfter = 15 * time.Minute

// Notice is the time before the end of a pause in which the objects are compared, so that users learn of the drift that
// the end reverts.
const Notice = time.Minute

// Input is the basis of a Decision.
type Input struct {
	Spec   v1alpha1.HelmReleaseSpec
	Record release.Record // newest record of the release
	Found  bool           // whether there is any record
	Last   release.Record // newest record that was seen, Record included; zero for none
	// Malformed is the error of an unreadable object that may be a newer record than Record; nil for none.
	Malformed error
	// Storages are the storages that are read. Elsewhere is for the other ones, if these have no record.
	Storages  []release.Storage
	Elsewhere Elsewhere
	Now       time.Time
	// SuspendReason and SuspendedBy are the reason and the author of a suspension; empty when unknown.
	SuspendReason, SuspendedBy string
}

// Elsewhere describes a record in a storage that is not read; the zero value is for none.
type Elsewhere struct {
	Record release.Record
	Found  bool
	// Unknown is the reason why the other storages are unknown; empty when they are known.
	Unknown string
}

// Decision is the decision about a release and its reason.
type Decision struct {
	State   v1alpha1.State
	Lock    bool
	Reason  string // a condition reason of the API package
	Message string
	// Since is when the newest revision began to be in transition; zero when it is not.
	Since time.Time
	// Window is the open window of spec.windows, or else the next one; zero for none.
	Window Span
	// Invalid is the error in spec.windows, and then all windows are ignored; empty for none.
	Invalid string
	// Resumes is the end of a pause if it is near: the release is locked as in mode Detect until then. It is zero
	// otherwise.
	Resumes time.Time
	// Again is when to decide again without any event; zero when only an event can change the decision.
	Again time.Time
}

// Decide maps the newest record of a release and the user's spec to a decision. It reads nothing but its input. A
// release is locked only while the status of its newest record is deployed. Helm writes every other status before it
// touches an object, so in every other status the objects may be Helm's to change.
func Decide(in Input) Decision {
	d := fromRecord(in)
	open := d.setWindow(in)
	d.Again = earliest(d.Again, noticeOf(in.Spec.NextIgnoreEnd(in.Now), in.Now))
	switch {
	case in.Spec.Suspend:
		return unlocked(d, v1alpha1.ReasonSuspended,
			"suspended by spec.suspend"+in.whySuspended()+"; nothing is reverted")
	case in.Spec.SuspendedAt(in.Now):
		until := in.Spec.SuspendUntil.UTC()
		return paused(d, in, until, v1alpha1.ReasonSuspended,
			"suspended until "+until.Format(time.RFC3339)+in.whySuspended())
	case open:
		until := d.Window.End
		return paused(d, in, until, v1alpha1.ReasonInWindow,
			"unlocked until "+until.Format(time.RFC3339)+" by spec.windows")
	}
	return d
}

// mostWhy bounds the reason and the author of a suspension in a message, in bytes.
const mostWhy = 256

// whySuspended returns the reason and the author of a suspension, as " (INC-7), by alice".
func (in Input) whySuspended() (text string) {
	if in.SuspendReason != "" {
		text = " (" + plain.Cut(in.SuspendReason, mostWhy) + ")"
	}
	if in.SuspendedBy != "" {
		text += ", by " + plain.Cut(in.SuspendedBy, mostWhy)
	}
	return text
}

// paused is the decision about a release that is not to be enforced until a time.
func paused(d Decision, in Input, until time.Time, reason, text string) Decision {
	notice := until.Add(-Notice)
	if d.Lock && in.Spec.Mode != v1alpha1.ModeDetect && !in.Now.Before(notice) {
		d.Reason, d.Message = reason, text+"; drift is reported now and reverted then"
		d.Resumes, d.Again = until, earliest(d.Again, until)
		return d
	}
	d.Again = earliest(d.Again, noticeOf(until, in.Now))
	return unlocked(d, reason, text+"; locks again by itself")
}

// noticeOf returns the time of the notice of an end, or the end if that has passed; zero for zero.
func noticeOf(end, now time.Time) time.Time {
	if notice := end.Add(-Notice); !end.IsZero() && now.Before(notice) {
		return notice
	}
	return end
}

// setWindow finds out about the windows of the spec, and reports whether one is open. Where one of them is wrong none
// opens: the release stays locked.
func (d *Decision) setWindow(in Input) (open bool) {
	ws, err := parseWindows(in.Spec.Windows, in.Now)
	if err != nil {
		d.Invalid = err.Error()
		return false
	}
	if d.Window = ws.at(in.Now.UTC()); d.Window == (Span{}) {
		return false
	}
	if open = !in.Now.Before(d.Window.Start); open {
		d.Again = earliest(d.Again, d.Window.End)
	} else {
		d.Again = earliest(d.Again, d.Window.Start)
	}
	return open
}

func unlocked(d Decision, reason, message string) Decision {
	d.Lock, d.Reason, d.Message = false, reason, message
	return d
}

func fromRecord(in Input) Decision {
	if in.Malformed != nil {
		return Decision{State: v1alpha1.StateError, Reason: v1alpha1.ReasonDecodeFailed, Message: in.Malformed.Error()}
	}
	name := in.Spec.Release.Namespace + "/" + in.Spec.Release.Name
	if !in.Found {
		return notFound(in, name)
	}
	if in.Record.Contested {
		return Decision{State: v1alpha1.StateError, Reason: v1alpha1.ReasonRecordsInTwoStorages, Message: fmt.Sprintf(
			"Helm release %s has records in Secrets and in ConfigMaps; Helm reads one of the two (HELM_DRIVER), and "+
				"nothing tells which, so the release is not locked; delete the records that Helm does not use", name)}
	}
	rec := in.Record
	revision := fmt.Sprintf("revision %d of Helm release %s is %s", rec.Revision, name, rec.Status)
	switch {
	case rec.Status == release.StatusDeployed:
		return Decision{State: v1alpha1.StateDeployed, Lock: true, Reason: v1alpha1.ReasonLocked, Message: revision}
	case rec.Status == release.StatusFailed:
		return Decision{
			State: v1alpha1.StateFailed, Reason: v1alpha1.ReasonNotDeployed,
			Message: revision + "; unlocked until a revision is deployed (helm upgrade or helm rollback)",
		}
	case rec.Status == release.StatusUninstalled:
		return Decision{State: v1alpha1.StateUninstalled, Reason: v1alpha1.ReasonNotDeployed, Message: revision}
	case release.Transitioning(rec.Status):
		return transitioning(in, revision)
	}
	return Decision{
		State: v1alpha1.StateUnknown, Reason: v1alpha1.ReasonNotDeployed,
		Message: revision + ", which is neither deployed nor in transition; unlocked",
	}
}

func notFound(in Input, name string) Decision {
	var read, unread []string
	for _, storage := range release.Storages {
		if slices.Contains(in.Storages, storage) {
			read = append(read, storage.Kind())
		} else {
			unread = append(unread, storage.Kind()+"s")
		}
	}
	d := Decision{State: v1alpha1.StateSecretNotFound, Reason: v1alpha1.ReasonSecretNotFound}
	d.Message = fmt.Sprintf("no %s holds a record of Helm release %s; it is locked as soon as Helm has installed it",
		strings.Join(read, " or "), name)
	switch {
	case in.Elsewhere.Found:
		d.Reason = v1alpha1.ReasonRecordNotRead
		d.Message = fmt.Sprintf("the record of Helm release %s is in %s, and this operator does not read %ss; run it "+
			"with --release-storage=secret,configmap (releaseStorage in the chart's values)",
			name, in.Elsewhere.Record.Object(), in.Elsewhere.Record.Storage.Kind())
	case in.Last.Status == release.StatusDeployed:
		d.Message = fmt.Sprintf("the record of revision %d of Helm release %s, %s, has been deleted; it was deployed, "+
			"and no uninstallation was seen; restore the record from a backup, or install the release again, to lock "+
			"it",
			in.Last.Revision, name, in.Last.Object())
	case in.Elsewhere.Unknown != "":
		d.Message += "; whether there is one elsewhere is not known: " + in.Elsewhere.Unknown
	case len(unread) > 0:
		d.Message += fmt.Sprintf(" (%s are not read: see --release-storage)", strings.Join(unread, " and "))
	}
	return d
}

func transitioning(in Input, revision string) Decision {
	since := in.Record.Modified
	if since.IsZero() {
		since = in.Record.Created
	}
	d := Decision{
		State: v1alpha1.StateTransitioning, Reason: v1alpha1.ReasonTransitioning, Since: since,
		Message: revision + "; unlocked while Helm works",
	}
	stuck := since.Add(stuckAfter)
	if in.Now.Before(stuck) {
		d.Again = stuck
		return d
	}
	d.Reason = v1alpha1.ReasonStuckTransitioning
	d.Message = fmt.Sprintf("%s since %s, so Helm was probably interrupted; unlocked until helm rollback or helm "+
		"upgrade ends it",
		revision, since.UTC().Format(time.RFC3339))
	return d
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
