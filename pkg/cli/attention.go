package cli

import (
	"fmt"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

const (
	// forgottenAfter is the duration after which a suspension may be forgotten, as in the chart's alert.
	forgottenAfter = 24 * time.Hour
	// takenUpWithin is the time in which an operator handles a new HelmRelease.
	takenUpWithin = time.Minute
	// mostAttention bounds the listed releases.
	mostAttention = 10
)

// attention returns a row for each HelmRelease with a problem, or with a suspension that may be forgotten: the
// release, the reason, and the remedy; before them the context, if there are any.
func attention(releases []*v1alpha1.HelmRelease, o tableOptions) [][]string {
	var rows [][]string
	left := 0
	for _, hr := range releases {
		switch f, needed := needsAttention(hr, o.now); {
		case !needed:
		case len(rows) == mostAttention:
			left++
		default:
			context := o.contexts[hr]
			rows = append(rows, o.contexts.column(context, []string{hr.Spec.Release.String(),
				inContext(context, f.Message), inContext(context, f.Advice)}))
		}
	}
	if left > 0 {
		remedy := command.Program + " check shows all"
		if len(o.contexts) > 0 {
			remedy = "check with the same contexts shows all"
		}
		rows = append(rows, o.contexts.column("", []string{fmt.Sprintf("and %d more", left), "", remedy}))
	}
	return rows
}

// needsAttention returns the finding about a HelmRelease, and reports whether a user must act on it: neither on a new
// HelmRelease nor on a short suspension.
func needsAttention(hr *v1alpha1.HelmRelease, now time.Time) (finding, bool) {
	f := lockFinding(hr, now)
	reason, _, since := report.Ready(hr)
	age := now.Sub(since)
	isNew := reason == "" && age < takenUpWithin
	isShort := reason == v1alpha1.ReasonSuspended && age < forgottenAfter
	return f, f.Level != levelOK && !isNew && !isShort
}

// noteAdditions prints the number of objects with additions that scope Declared ignores.
func noteAdditions(a *action, releases []*v1alpha1.HelmRelease) {
	objects, of := 0, 0
	for _, hr := range releases {
		if n := hr.Status.Objects.Additions; n > 0 {
			objects += n
			of++
		}
	}
	if objects > 0 {
		a.note("note: others added something to %s of %s; %s diff RELEASE -n NAMESPACE --strict shows what", plain.Count(objects, "object"),
			plain.Count(of, "release"), a.name)
	}
}
