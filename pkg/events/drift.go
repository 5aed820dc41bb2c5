package events

import (
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/plain"
)

// Attribute determines the authors of the changes.
func (d *Drift) Attribute() {
	if d.Live != nil {
		d.Authors = drift.Attribute(d.Live.GetManagedFields(), d.Found.Desired, d.Live.Object, d.Found.Changes,
			d.Found.Owner)
	}
}

// WithoutObjectSets returns the drift without the ObjectSet metadata, which is the operator's own; nil if that is all.
func (d *Drift) WithoutObjectSets() *Drift {
	ofObjectSets := func(c drift.Change) bool { return classic.IsAt(c.Path) }
	if !slices.ContainsFunc(d.Found.Changes, ofObjectSets) {
		return d
	}
	rest := *d
	rest.Found.Changes = slices.DeleteFunc(slices.Clone(d.Found.Changes), ofObjectSets)
	if len(rest.Found.Changes) == 0 {
		return nil
	}
	rest.Operation, rest.Authors = OperationOf(rest.Found.Changes), nil
	for _, a := range d.Authors {
		a.Changes = slices.DeleteFunc(slices.Clone(a.Changes), ofObjectSets)
		if len(a.Changes) > 0 {
			rest.Authors = append(rest.Authors, a)
		}
	}
	return &rest
}

// OperationOf sums changes up: removed or added if all are. An object without changes is drifted because its deletion
// is pending.
func OperationOf(changes []drift.Change) v1alpha1.DriftOperation {
	if len(changes) == 0 {
		return v1alpha1.DriftDeleted
	}
	switch op := changes[0].Op; {
	case slices.ContainsFunc(changes, func(c drift.Change) bool { return c.Op != op }):
		return v1alpha1.DriftModified
	case op == drift.Removed:
		return v1alpha1.DriftRemoved
	case op == drift.Added:
		return v1alpha1.DriftAdded
	}
	return v1alpha1.DriftModified
}

// Portions returns the changes by author, at least one portion.
func (d *Drift) Portions() []Portion {
	all := make([]Portion, len(d.Authors), max(len(d.Authors), 1))
	for i, a := range d.Authors {
		all[i] = Portion{Attribution: a, Did: OperationOf(a.Changes)}
	}
	if len(all) == 0 {
		all = append(all, Portion{Attribution: drift.Attribution{Changes: d.Found.Changes}, Did: d.Operation})
	}
	for i := range all {
		all[i].Users, all[i].Groups = all[i].senders(d.Requests, d.SeenFirst(all[i].Changes))
	}
	return all
}

// Summary describes the changes and their authors, without any value.
func (d *Drift) Summary() string { return d.describe(func(drift.Author) string { return "" }) }

// account is Summary with the evidence of managedFields beside the name of each author. It is for events: in a
// condition, the time would make every drift a new message.
func (d *Drift) account() string { return d.describe(evidence) }

func (d *Drift) describe(evidence func(drift.Author) string) string {
	var texts []string
	for _, p := range d.Portions() {
		var text string
		switch {
		case p.Did == v1alpha1.DriftDeleted && d.Found.Deletion != "":
			text = d.Found.Deletion
		case p.Did == v1alpha1.DriftLeftover:
			text = "left over from an earlier revision"
		case len(p.Changes) == 0: // deleted or missing
			text = strings.ToLower(string(p.Did))
		case p.Did == v1alpha1.DriftAdded:
			text = drift.Describe(p.Changes, plain.MaxNamed) + " added"
		case slices.ContainsFunc(p.Changes, func(c drift.Change) bool { return c.Op == drift.Shared }):
			text = drift.Describe(p.Changes, plain.MaxNamed) + " owned"
		default:
			text = drift.Describe(p.Changes, plain.MaxNamed) + " changed"
		}
		switch users := strings.Join(p.Users, " or "); {
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
