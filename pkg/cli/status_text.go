package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// statusTable returns a table of HelmReleases.
func statusTable(releases []*v1alpha1.HelmRelease, o tableOptions) string {
	var t report.Table
	row := func(paint func(int, string) string, context, namespace string, cells, wide []string) {
		if o.wide {
			cells = append(cells, wide...)
		}
		if o.namespaces {
			cells = append([]string{namespace}, cells...)
		}
		t.Add(paint, o.contexts.column(context, cells)...)
	}
	if !o.rowsAlone {
		row(func(_ int, text string) string { return o.style.Bold(text) }, titleContext, "NAMESPACE",
			[]string{"NAME", "RELEASE", "REV", "LOCKED", "DRIFTED", "RECENT", "CONTENDED", "SINCE", "STATE", "REASON"},
			[]string{"MODE", "SCOPE", "MESSAGE"})
	}
	for _, hr := range releases {
		status, locked := hr.Status, report.LockState(hr, o.now)
		reason, message, since := report.Ready(hr)
		paint := func(_ int, text string) string { return text }
		if o.style.Color {
			paint = rowColor(hr, locked, o.style)
		}
		row(paint, o.contexts[hr], hr.Namespace, []string{
			hr.Name, hr.Spec.Release.String(), number(status.Version), locked,
			o.paused.driftedCell(hr), fmt.Sprint(len(status.RecentDrift)),
			fmt.Sprint(status.Objects.Contended), report.Age(since, o.now), status.State, reason,
		}, []string{string(hr.Spec.Mode), string(hr.Spec.Scope), message})
	}
	if o.rowsAlone {
		return t.String(o.width)
	}
	if !o.wide {
		t.Fit(o.width, "CONTENDED", "RECENT", "STATE", "SINCE", "REV") // the reason is kept
	}
	return t.String(o.width) + section(o.style, attention(releases, o),
		o.contexts.column(titleContext, []string{"NEEDS ATTENTION", "WHY", "WHAT TO DO"})...)
}

// rowColor returns a colour for a release that needs attention.
func rowColor(hr *v1alpha1.HelmRelease, locked string, style report.Style) func(int, string) string {
	switch {
	case hr.Status.Objects.Contended > 0, hr.Status.Objects.Drifted > 0,
		meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionStalled):
		return func(_ int, text string) string { return style.Red(text) }
	case locked != report.LockedYes:
		return func(_ int, text string) string { return style.Yellow(text) }
	}
	return func(_ int, text string) string { return text }
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// statusDetails returns all about one HelmRelease.
func statusDetails(hr *v1alpha1.HelmRelease, o tableOptions) string {
	now, style := o.now, o.style
	status := &hr.Status
	var conditions, drifts, exceptions [][]string
	for _, c := range status.Conditions {
		conditions = append(conditions,
			[]string{c.Type, string(c.Status), c.Reason, report.Age(c.LastTransitionTime.Time, now), c.Message})
	}
	for _, d := range slices.Backward(status.RecentDrift) { // oldest first: a time line
		drifts = append(drifts,
			[]string{report.Time(d.Time.Time), d.Object.String(), report.WhatDrifted(d), report.Outcome(d)})
	}
	for _, e := range status.Exceptions {
		exceptions = append(exceptions,
			[]string{e.Object.String(), string(e.Reason), report.Paths(e.Paths, 0), e.Message})
	}
	if status.MoreExceptions > 0 {
		exceptions = append(exceptions, []string{fmt.Sprintf("and %d more", status.MoreExceptions)})
	}
	return statusHead(hr, o) +
		section(style, conditions, "CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE") +
		section(style, drifts, "DRIFT", "OBJECT", "WHAT", "OUTCOME") + whoDrifted(status.RecentDrift) +
		section(style, exceptions, "LEFT ALONE", "REASON", "FIELDS", "MESSAGE")
}

// whoDrifted describes how to find the unknown user behind the newest drift; empty without one.
func whoDrifted(recent []v1alpha1.DriftRecord) string {
	for _, d := range recent {
		if d.User == "" && d.Operation != v1alpha1.DriftLeftover && d.Operation != v1alpha1.DriftMissing {
			return "\nThe API server's audit log knows the user. For the last drift:\n  " + report.AuditQuery(d) + "\n"
		}
	}
	return ""
}

// statusHead returns the single values, a line each.
func statusHead(hr *v1alpha1.HelmRelease, options tableOptions) string {
	status, now := &hr.Status, options.now
	state := status.State
	if status.Version > 0 {
		state += fmt.Sprintf(", revision %d", status.Version)
	}
	if status.TransitioningSince != nil {
		state += " since " + report.Time(status.TransitioningSince.Time)
	}
	locked := report.LockState(hr, now)
	if status.Revision > 0 {
		locked += fmt.Sprintf(", revision %d", status.Revision)
	}
	if locked == report.LockedSuspended {
		locked += report.SuspendedFor(hr)
		if user := hr.Annotations[v1alpha1.SuspendedByAnnotation]; user != "" {
			locked += ", by " + user
		}
	}
	lines := [][2]string{
		{"Context", options.contexts[hr]}, {"HelmRelease", hr.Namespace + "/" + hr.Name}, {"Release", hr.Spec.Release.String()}, {"State", state},
		{"Locked", locked}, {"Mode", string(hr.Spec.Mode)}, {"Scope", string(hr.Spec.Scope)},
		{"Managed by", hr.Annotations[v1alpha1.ManagedByAnnotation]}, {"Objects", options.paused.objects(hr)},
	}
	if isHeld(hr) {
		lines = append(lines, [2]string{"Held since", hr.Annotations[v1alpha1.HeldSinceAnnotation] + ", because of drift"})
	}
	if w := status.Window; w != nil && now.Before(w.Start.Time) {
		lines = append(lines, [2]string{"Next window", report.Time(w.Start.Time) + " to " + report.Time(w.End.Time)})
	}
	if hr.Spec.Guard.IsOn() {
		lines = append(lines, [2]string{"Guard", guardText(hr)})
	}
	for _, subject := range hr.Spec.GuardExempt {
		lines = append(lines, [2]string{"Exempt", subjectText(subject)})
	}
	for _, subject := range hr.Spec.ExpectedWriters {
		lines = append(lines, [2]string{"Expected writer", subjectText(subject)})
	}
	for _, rule := range hr.Spec.Ignore {
		lines = append(lines, [2]string{"Ignored", ruleText(rule)})
	}
	var head report.Table
	for _, line := range lines {
		if line[1] != "" {
			head.Add(nil, line[0]+":", line[1])
		}
	}
	return head.String(0)
}

func ruleText(rule v1alpha1.IgnoreRule) string {
	var parts []string
	if len(rule.Paths) > 0 {
		parts = append(parts, strings.Join(rule.Paths, " "))
	}
	if len(rule.Managers) > 0 {
		parts = append(parts, "what is written by "+strings.Join(rule.Managers, ", "))
	}
	if t := rule.Target; t != nil {
		var selected []string
		for _, s := range [...]struct{ name, value string }{
			{"group", t.Group}, {"version", t.Version}, {"kind", t.Kind}, {"name", t.Name}, {"namespace", t.Namespace},
			{"labels", t.LabelSelector}, {"annotations", t.AnnotationSelector},
		} {
			if s.value != "" {
				selected = append(selected, s.name+" "+s.value)
			}
		}
		parts = append(parts, "in objects with "+strings.Join(selected, ", "))
	}
	if rule.Until != nil {
		parts = append(parts, "until "+report.Time(rule.Until.Time))
	}
	if rule.Reason != "" {
		parts = append(parts, "reason: "+plain.Line(rule.Reason))
	}
	if rule.By != "" {
		parts = append(parts, "by "+plain.Line(rule.By))
	}
	return strings.Join(parts, ", ")
}

// statusOut is a HelmRelease as JSON or YAML. Its fields are part of the command's interface.
type statusOut struct {
	Context   string `json:"context,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Locked    string `json:"locked"`
	Suspended string `json:"suspendReason,omitempty"`
	By        string `json:"suspendedBy,omitempty"`
	HeldSince string `json:"heldSince,omitempty"`
	// WouldBeReverted counts the objects that the end of a suspension reverts; absent when unknown.
	WouldBeReverted *int                       `json:"wouldBeReverted,omitempty"`
	Spec            v1alpha1.HelmReleaseSpec   `json:"spec"`
	Status          v1alpha1.HelmReleaseStatus `json:"status"`
}

func statusOf(hr *v1alpha1.HelmRelease, now time.Time) statusOut {
	out := statusOut{Name: hr.Name, Namespace: hr.Namespace, Locked: report.LockState(hr, now),
		Suspended: hr.Annotations[v1alpha1.SuspendReasonAnnotation], By: hr.Annotations[v1alpha1.SuspendedByAnnotation],
		Spec: hr.Spec, Status: hr.Status}
	if isHeld(hr) {
		out.HeldSince = hr.Annotations[v1alpha1.HeldSinceAnnotation]
	}
	out.Status.Notes = "" // they can hold passwords, and inspect --notes shows them masked
	return out
}

// guardText describes the requested guard of a HelmRelease, and whether it is in force.
func guardText(hr *v1alpha1.HelmRelease) string {
	if report.GuardMissing(hr) {
		return string(hr.Spec.Guard) + ", not in force"
	}
	return string(hr.Spec.Guard)
}

func subjectText(s v1alpha1.GuardSubject) string {
	if s.Namespace == "" {
		return string(s.Kind) + " " + s.Name
	}
	return string(s.Kind) + " " + s.Namespace + "/" + s.Name
}
