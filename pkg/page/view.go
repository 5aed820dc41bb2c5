package page

import (
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// encode returns a server-sent event. JSON has no line ends, so its data fit on one line.
func encode(event string, data any) (string, error) {
	encoded, err := json.Marshal(data)
	return "event: " + event + "\ndata: " + string(encoded) + "\n\n", err
}

// stoppedView is an operator that manages HelmReleases of the page, and does not run.
type stoppedView struct {
	// Lease is its name, as in rows. Text names the operator and the time of its last renewal.
	Lease string `json:"lease"`
	Text  string `json:"text"`
}

// mostMessage bounds the message of a row, in characters; all of it is with the release.
const mostMessage = 300

// operatorView is the page's view of the operators and of itself.
type operatorView struct {
	Namespace  string `json:"namespace"`
	Controller string `json:"controller"`
	Version    string `json:"version"`
	// Ready reports whether the HelmReleases are known.
	Ready bool `json:"ready"`
	// Stopped lists the operators that manage HelmReleases and do not run.
	Stopped []stoppedView `json:"stopped,omitempty"`
	// Compares reports whether the page answers comparisons.
	Compares bool `json:"compares"`
	// Now lets a browser with a wrong clock compute ages.
	Now time.Time `json:"now"`
}

// rowView is a row of the list of HelmReleases. Texts are neutral (plain.Line), here and in all other views.
type rowView struct {
	// Key names the HelmRelease, Namespace and Name the release.
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Policy is the owning HelmReleasePolicy, empty for a HelmRelease written by hand.
	Policy string `json:"policy,omitempty"`
	// Lease is the name of the Lease of the operator that manages the HelmRelease.
	Lease string `json:"lease,omitempty"`
	// Lock is one of report.LockedYes and so on. Attention is set when a person should act.
	Lock      string `json:"lock"`
	Attention bool   `json:"attention"`
	// Message is cut off at mostMessage characters in a row.
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`

	Version   int                   `json:"version,omitempty"`
	Objects   v1alpha1.ObjectCounts `json:"objects"`
	LastDrift *time.Time            `json:"lastDrift,omitempty"`
}

// releaseView is the view of one HelmRelease: the fields of the status without description and notes.
type releaseView struct {
	rowView
	Suspended string `json:"suspended,omitempty"`
	Owner     string `json:"owner,omitempty"`
	State     string `json:"state,omitempty"`
	Revision  int    `json:"revision,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Scope     string `json:"scope,omitempty"`

	Conditions     []conditionView `json:"conditions,omitempty"`
	Drift          []driftView     `json:"drift,omitempty"`
	Exceptions     []exceptionView `json:"exceptions,omitempty"`
	MoreExceptions int             `json:"moreExceptions,omitempty"`
}

type conditionView struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// driftView is an entry of the time line. Key, Namespace and Name are those of its release's row.
type driftView struct {
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	Time    time.Time `json:"time"`
	Object  string    `json:"object"`
	What    string    `json:"what"`
	Action  string    `json:"action"`
	Outcome string    `json:"outcome"`
	// Operation distinguishes entries with the same time and object.
	Operation string   `json:"operation"`
	Paths     []string `json:"paths,omitempty"`
}

type exceptionView struct {
	Object  string `json:"object"`
	Reason  string `json:"reason"`
	Fields  string `json:"fields,omitempty"`
	Message string `json:"message,omitempty"`
}

func rowOf(hr *v1alpha1.HelmRelease, now time.Time) rowView {
	status := hr.Status
	reason, message, since := report.Ready(hr)
	lock := report.LockState(hr, now)
	row := rowView{
		Key: plain.Line(keyOf(hr)), Namespace: plain.Line(hr.Spec.Release.Namespace),
		Name: plain.Line(hr.Spec.Release.Name), Lock: lock,
		Reason: plain.Line(reason), Message: plain.Line(message), Since: since.UTC(),
		Version: status.Version, Objects: status.Objects,
		Attention: lock == report.LockedNo && reason != v1alpha1.ReasonTransitioning ||
			lock == report.LockedUnknown || status.Objects.Drifted > 0 || status.Objects.Contended > 0 ||
			meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled),
	}
	if report.GuardMissing(hr) && (lock == report.LockedYes || lock == report.LockedDetect) {
		row.Attention = true
		row.Message += "; its guard is not in force, so changes are only reverted"
		if guarded := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionGuarded); guarded != nil {
			row.Message += ": " + plain.Line(guarded.Message)
		}
	}
	if owner := v1alpha1.PolicyOf(hr); owner != nil {
		row.Policy = plain.Line(owner.Name)
	}
	if name, ok := inspect.LeaseOf(hr); ok {
		row.Lease = plain.Line(name)
	}
	if len(status.RecentDrift) > 0 {
		last := status.RecentDrift[0].Time.UTC()
		row.LastDrift = &last
	}
	return row
}

func keyOf(hr *v1alpha1.HelmRelease) string { return hr.Namespace + "/" + hr.Name }

func viewOf(hr *v1alpha1.HelmRelease, now time.Time) releaseView {
	status := hr.Status
	view := releaseView{
		rowView: rowOf(hr, now), Owner: plain.Line(hr.Annotations[v1alpha1.ManagedByAnnotation]),
		State: plain.Line(status.State), Revision: status.Revision,
		Mode: plain.Line(string(hr.Spec.Mode)), Scope: plain.Line(string(hr.Spec.Scope)),
		MoreExceptions: status.MoreExceptions,
	}
	if view.Lock == report.LockedSuspended {
		view.Suspended = plain.Line(strings.TrimSpace(report.SuspendedFor(hr)))
	}
	for _, c := range status.Conditions {
		view.Conditions = append(view.Conditions, conditionOf(c))
	}
	for _, r := range status.RecentDrift {
		view.Drift = append(view.Drift, driftOf(keyOf(hr), hr.Spec.Release, r))
	}
	for _, e := range status.Exceptions {
		view.Exceptions = append(view.Exceptions, exceptionView{
			Object: plain.Line(e.Object.String()), Reason: plain.Line(string(e.Reason)),
			Fields:  plain.Line(report.Paths(e.Paths, 0)),
			Message: plain.Line(e.Message),
		})
	}
	return view
}

func conditionOf(c metav1.Condition) conditionView {
	return conditionView{
		Type: plain.Line(c.Type), Status: plain.Line(string(c.Status)), Reason: plain.Line(c.Reason),
		Message: plain.Line(c.Message),
		Since:   c.LastTransitionTime.UTC(),
	}
}

func driftOf(key string, of v1alpha1.ReleaseReference, r v1alpha1.DriftRecord) driftView {
	view := driftView{
		Key: plain.Line(key), Namespace: plain.Line(of.Namespace), Name: plain.Line(of.Name),
		Time: r.Time.UTC(), Object: plain.Line(r.Object.String()), What: plain.Line(report.WhatDrifted(r)),
		Action: plain.Line(string(r.Action)), Outcome: plain.Line(report.Outcome(r)),
		Operation: plain.Line(string(r.Operation)),
	}
	for _, path := range r.Paths {
		view.Paths = append(view.Paths, plain.Line(path))
	}
	return view
}
