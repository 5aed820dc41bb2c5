package judge

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// namedPaths bounds the paths named in a text for a requester. It counts the rest.
const namedPaths = 3

// Refusal returns the text for the sender of a refused request, or of a dry run of one.
func (a *Admission) Refusal(changes []drift.Change) string {
	what, were := "its deletion", "was"
	if a.After != nil {
		what = a.describe(changes)
		if len(changes) > 1 {
			were = "were"
		}
	}
	if a.DryRun {
		were = "would be"
	}
	use := fmt.Sprintf("\"helm upgrade %s -n %s\"", a.Locked.Name, a.Locked.Namespace)
	if a.After == nil { // a deletion may be of an uninstallation that could not store its record, and went on
		use = fmt.Sprintf("%s or \"helm uninstall %s -n %s\", which has to store its record first", use, a.Locked.Name,
			a.Locked.Namespace)
	}
	if a.Locked != a.Release { // Helm's commands take one namespace for both
		use = fmt.Sprintf("the tool that stores its records in namespace %s", a.Locked.Namespace)
	}
	return fmt.Sprintf("helm-locker: %s, which is locked; %s %s refused. Use %s, or \"helm-locker suspend %s -n %s "+
		"--for 30m\"%s", a.subject(), what, were, use, a.Locked.Name, a.Locked.Namespace, a.alternative())
}

// alternative returns another way for the requester. Helm writes the definitions of a chart's crds directory before it
// stores a record, so its request looks like any other one.
func (a *Admission) alternative() string {
	if a.ID.Group != "apiextensions.k8s.io" || a.After == nil {
		return ""
	}
	return fmt.Sprintf(". If it comes from the crds directory of another chart, upgrade %s to a revision that "+
		"declares what that chart needs, and install the chart with --skip-crds", a.Locked.Name)
}

// Warning returns the text for the sender of an admitted request. The operator will revert it or, with detected, only
// report it.
func (a *Admission) Warning(changes []drift.Change, detected bool) string {
	what, fate := "its deletion", "will be undone"
	if a.After != nil {
		what, fate = a.describe(changes), "will be reverted"
	}
	if detected {
		fate = "is drift, and will be reported"
		if len(changes) > 1 {
			fate = "are drift, and will be reported"
		}
	}
	return fmt.Sprintf("helm-locker: %s, which is locked; %s %s", a.subject(), what, fate)
}

// subject returns "Deployment apps/web belongs to the Helm release apps/shop".
func (a *Admission) subject() string {
	object := a.ID.Name
	if a.ID.Namespace != "" {
		object = a.ID.Namespace + "/" + a.ID.Name
	}
	return fmt.Sprintf("%s %s belongs to the Helm release %s", a.ID.Kind, object, a.Release)
}

// describe names the fields that a request changes. The only values it quotes are numbers of replicas of Kubernetes
// kinds: a user with the right to update an object may have no right to read it.
func (a *Admission) describe(changes []drift.Change) string {
	text := drift.Describe(changes, namedPaths)
	if len(changes) != 1 || !HasReplicas(a.ID) || !a.isReplicas(changes[0].Segments()) {
		return text
	}
	before, ok, err := unstructured.NestedInt64(a.Before.Object, "spec", "replicas")
	after, set, invalid := unstructured.NestedInt64(a.After.Object, "spec", "replicas")
	if !ok || !set || err != nil || invalid != nil || before == after {
		return text
	}
	return fmt.Sprintf("%s %d -> %d", text, before, after)
}
