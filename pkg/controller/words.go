package controller

import (
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/plain"
)

// portion is one author's part of the changes to an object. The name of an unknown author is empty.
type portion struct {
	drift.Attribution
	operation v1alpha1.DriftOperation
	users     []string // the possible senders of the change
	groups    []string // those of a single sender
}

// portions returns the changes by author, at least one portion.
func (v *result) portions() []portion {
	all := make([]portion, len(v.authors), max(len(v.authors), 1))
	for i, a := range v.authors {
		all[i] = portion{Attribution: a, operation: operationOf(a.Changes)}
	}
	if len(all) == 0 {
		all = append(all, portion{Attribution: drift.Attribution{Changes: v.found.Changes}, operation: v.operation})
	}
	for i := range all {
		all[i].users, all[i].groups = all[i].senders(v.requests, v.seenFirst(all[i].Changes))
	}
	return all
}

// summary describes the changes and their authors, without any value.
func (v *result) summary() string { return v.describe(func(drift.Author) string { return "" }) }

// account is summary with the evidence of managedFields beside the name of each author. It is for events: in a
// condition, the time would make every drift a new message.
func (v *result) account() string { return v.describe(evidence) }

func (v *result) describe(evidence func(drift.Author) string) string {
	var texts []string
	for _, p := range v.portions() {
		var text string
		switch {
		case p.operation == v1alpha1.DriftDeleted && v.found.Deletion != "":
			text = v.found.Deletion
		case p.operation == v1alpha1.DriftLeftover:
			text = "left over from an earlier revision"
		case len(p.Changes) == 0: // deleted or missing
			text = strings.ToLower(string(p.operation))
		case p.operation == v1alpha1.DriftAdded:
			text = drift.Describe(p.Changes, plain.MaxNamed) + " added"
		case slices.ContainsFunc(p.Changes, func(c drift.Change) bool { return c.Op == drift.Shared }):
			text = drift.Describe(p.Changes, plain.MaxNamed) + " owned"
		default:
			text = drift.Describe(p.Changes, plain.MaxNamed) + " changed"
		}
		switch users := strings.Join(p.users, " or "); {
		case p.Manager != "" && users != "":
			text += " by " + p.Manager + evidence(p.Author) + " as " + users
		case p.Manager != "":
			text += " by " + p.Manager + evidence(p.Author)
		case users != "":
			text += " by user " + users
		}
		texts = append(texts, plain.Line(text))
	}
	return strings.Join(texts[:min(plain.MaxNamed, len(texts))], ", ") + plain.AndMore(len(texts)-plain.MaxNamed)
}

// evidence is the managedFields entry of an author, as in " (Update of scale at 12:03:04Z)"; empty when there is none.
func evidence(a drift.Author) string {
	if a.Operation == "" {
		return ""
	}
	text := a.Operation
	if a.Subresource != "" {
		text += " of " + a.Subresource
	}
	if !a.Time.IsZero() {
		text += " at " + a.Time.UTC().Format("15:04:05Z")
	}
	return " (" + text + ")"
}

// pathsOf returns the changed paths, each once, cut to the limit of a status, and the number of omitted ones.
func pathsOf(changes []drift.Change) ([]string, int) {
	paths := make([]string, 0, len(changes))
	for _, ch := range changes {
		paths = append(paths, plain.Line(ch.Path)) // keys of custom resources may be anything
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > v1alpha1.MaxDriftPaths {
		return paths[:v1alpha1.MaxDriftPaths], len(paths) - v1alpha1.MaxDriftPaths
	}
	return paths, 0
}
