package controller

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/report"
)

// summary says in words what changed and who did it, without any value.
func (v *result) summary() string {
	var b strings.Builder
	switch {
	case v.operation == v1alpha1.DriftDeleted && v.found.Deletion != "":
		b.WriteString(v.found.Deletion)
	case v.operation == v1alpha1.DriftDeleted:
		b.WriteString("deleted")
	case v.operation == v1alpha1.DriftLeftover:
		b.WriteString("left over from an earlier revision")
	case v.operation == v1alpha1.DriftAdded:
		fmt.Fprintf(&b, "%s added", drift.Describe(v.found.Changes, 3))
	default:
		fmt.Fprintf(&b, "%s changed", drift.Describe(v.found.Changes, 3))
	}
	if v.author.Manager != "" {
		fmt.Fprintf(&b, " by %s", v.author.Manager)
	}
	return report.Line(b.String())
}

// evidence is what managedFields say about the change beside the manager's name, as in " (Update of scale at
// 12:03:04Z)"; empty when they say nothing. It is for events: in a condition the time would make every drift a new
// message.
func (v *result) evidence() string {
	if v.author.Manager == "" || v.author.Operation == "" {
		return ""
	}
	text := v.author.Operation
	if v.author.Subresource != "" {
		text += " of " + v.author.Subresource
	}
	if !v.author.Time.IsZero() {
		text += " at " + v.author.Time.UTC().Format("15:04:05Z")
	}
	return " (" + text + ")"
}

// paths returns the changed paths, each once, cut to what a status holds, and how many were left out.
func (v *result) paths() ([]string, int) {
	paths := make([]string, 0, len(v.found.Changes))
	for _, ch := range v.found.Changes {
		paths = append(paths, report.Line(ch.Path)) // keys of custom resources may be anything
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > v1alpha1.MaxDriftPaths {
		return paths[:v1alpha1.MaxDriftPaths], len(paths) - v1alpha1.MaxDriftPaths
	}
	return paths, 0
}
