package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
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
	switch values := a.valuesCommand(changes); {
	case a.Locked != a.Release: // Helm's commands take one namespace for both
		use = fmt.Sprintf("the tool that stores its records in namespace %s", a.Locked.Namespace)
	case a.After == nil: // a deletion may be of an uninstallation that could not store its record, and went on
		use = fmt.Sprintf("%s or \"helm uninstall %s -n %s\", which has to store its record first", use, a.Locked.Name,
			a.Locked.Namespace)
	case values != "":
		use = fmt.Sprintf("%s (\"%s\" names the value)", use, values)
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
	if a.endsRun() {
		fate = "will end it, and will not be reverted"
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

// describe names the fields that a request changes, and the old and the new number of replicas.
func (a *Admission) describe(changes []drift.Change) string {
	text := drift.Describe(changes, namedPaths)
	if before, after, ok := a.replicas(changes); ok {
		return fmt.Sprintf("%s %d -> %d", text, before, after)
	}
	return text
}

// replicas returns the numbers of replicas of a request that changes nothing else; false for another request. These of
// Kubernetes kinds are the only values in a text: a user with the right to update an object may have no right to read
// it.
func (a *Admission) replicas(changes []drift.Change) (before, after int64, ok bool) {
	if len(changes) != 1 || !HasReplicas(a.ID) || !a.scaling().isAt(changes[0].Segments()) {
		return 0, 0, false
	}
	before, had, err := unstructured.NestedInt64(a.Before.Object, "spec", "replicas")
	after, set, invalid := unstructured.NestedInt64(a.After.Object, "spec", "replicas")
	return before, after, had && set && err == nil && invalid == nil && before != after
}

// A command is for a shell, so each word of it that a tenant chose has to be harmless there.
var (
	plainPath = regexp.MustCompile(`^[A-Za-z0-9_./\[\]-]+$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)
)

// valuesCommand returns the command that finds the Helm value behind the first field that a request changes; empty
// without one.
func (a *Admission) valuesCommand(changes []drift.Change) string {
	if len(changes) == 0 {
		return ""
	}
	value := "..."
	if _, after, ok := a.replicas(changes); ok {
		value = strconv.FormatInt(after, 10)
	}
	return ValuesCommand(a.Locked, a.ID, ValuesField(changes[0], value))
}

// ValuesField returns PATH=VALUE for ValuesCommand. It is empty for an addition, for a field that no chart sets, and
// for a path that a shell would interpret. The value has to be harmless to a shell.
func ValuesField(change drift.Change, value string) string {
	path := drift.Describe([]drift.Change{change}, 1)
	if change.Op == drift.Added || !isOfValues(change.Segments()) || !plainPath.MatchString(path) {
		return ""
	}
	field := path + "=" + value
	if strings.Contains(field, "[") { // a pattern to some shells
		field = "'" + field + "'"
	}
	return field
}

// ValuesCommand returns the command that finds the Helm values behind fields of an object, which are results of
// ValuesField. It is empty without a field, and for a name that a shell would interpret.
func ValuesCommand(locked release.Key, id manifest.ID, fields ...string) string {
	fields = slices.DeleteFunc(fields, func(field string) bool { return field == "" })
	if len(fields) == 0 || !plainName.MatchString(id.Name) {
		return ""
	}
	object := strings.ToLower(id.Kind) + "/" + id.Name
	if id.Namespace != "" && id.Namespace != locked.Namespace {
		object = strings.ToLower(id.Kind) + "/" + id.Namespace + "/" + id.Name
	}
	return fmt.Sprintf("helm-locker values %s -n %s %s %s", locked.Name, locked.Namespace, object,
		strings.Join(fields, " "))
}

// helmMarks are the keys of the metadata by which Helm recognises its objects.
var helmMarks = []string{manifest.ReleaseNameAnnotation, manifest.ReleaseNamespaceAnnotation, manifest.ManagedByLabel}

// isOfValues reports whether a chart may set a field. It may set neither the status nor owner references nor Helm's
// marks.
func isOfValues(path []string) bool {
	if len(path) < 2 || path[0] == "status" {
		return false
	}
	return path[0] != "metadata" || path[1] != "ownerReferences" && !slices.Contains(helmMarks, path[len(path)-1])
}
