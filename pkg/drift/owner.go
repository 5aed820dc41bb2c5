package drift

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/managers"
)

// Owner is the field manager of Helm's writes to an object.
type Owner struct {
	// Manager is its name: "helm", "helm-controller", "terraform-provider-helm", ...
	Manager string
	// Operation is Apply after a server-side apply (Helm 4), else Update.
	Operation metav1.ManagedFieldsOperationType
	// Known is false when no manager owns Helm's metadata on the object, and the rest is the default: helm, Update.
	Known bool
}

// ManagedBy returns Helm's manager on an object: the owner of meta.helm.sh/release-name. If another manager took over a
// part of Helm's metadata by a change, the manager with the most of it wins, then one with helm in its name. Of two
// tools built on Helm (Flux and the helm command, say) the last writer wins: its next upgrade relies on its fields.
// Without helm in its name, such a tool looks like a client that applies an object as read and edited. The first entry
// wins there. Times have whole seconds; on a tie the manager with the most fields wins, then helm itself.
//
// The fields in lost (see managers.HelmFields) do not have Helm's values, so their owner is another one.
func ManagedBy(managedFields []metav1.ManagedFieldsEntry, lost ...string) Owner {
	var best *metav1.ManagedFieldsEntry
	bestScore := 0
	for i := range managedFields {
		entry := &managedFields[i]
		score := helmScore(entry, lost)
		if score > bestScore || score > 0 && score == bestScore && hasHelmName(entry) && outranks(entry, best) {
			best, bestScore = entry, score
		}
	}
	if best == nil {
		return OwnerOf("", false)
	}
	return Owner{Manager: best.Manager, Operation: best.Operation, Known: true}
}

// Replaced reports whether the owner of Helm's metadata on an object is a client that deleted the object and created it
// again with that metadata, and not Helm. A manager with helm in its name is Helm. Another one is a tool built on Helm
// if it is the manager of the release's other objects. Where that is unknown, or has no helm in its name either, the
// tool writes as the release is written: by an apply if it is applied server-side. helm returns the manager of the
// other objects, empty when unknown; nil for unknown. It is called only where the name does not decide.
func (o Owner) Replaced(helm func() string, serverSide bool) bool {
	if namesHelm(o.Manager) {
		return false
	}
	manager := ""
	if helm != nil {
		manager = helm()
	}
	return manager != o.Manager &&
		(namesHelm(manager) || serverSide && o.Operation == metav1.ManagedFieldsOperationUpdate)
}

// OwnerOf returns the owner of an object that shows none: the manager of its release, helm when empty.
func OwnerOf(manager string, serverSide bool) Owner {
	owner := Owner{Manager: cmp.Or(manager, defaultManager), Operation: metav1.ManagedFieldsOperationUpdate}
	if serverSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	return owner
}

// MadeBy reports whether a manager may have created an object: it owns Helm's metadata by an update.
func MadeBy(managedFields []metav1.ManagedFieldsEntry, manager string) bool {
	return slices.ContainsFunc(managedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" &&
			managers.Owns(&e, managers.ReleaseName)
	})
}

// defaultManager is the field manager of the helm command.
const defaultManager = "helm"

// helmScore grows with the part of Helm's metadata that an entry owns; for equal parts helm in its name adds to it. It
// is 0 for an entry that cannot be Helm's.
func helmScore(entry *metav1.ManagedFieldsEntry, lost []string) int {
	score := 2 * managers.HelmFields(entry, lost...)
	if score > 0 && hasHelmName(entry) {
		score++
	}
	return score
}

func hasHelmName(entry *metav1.ManagedFieldsEntry) bool { return namesHelm(entry.Manager) }

func namesHelm(manager string) bool { return strings.Contains(manager, "helm") }

// outranks reports whether an entry precedes the first entry of the same score.
func outranks(entry, first *metav1.ManagedFieldsEntry) bool {
	if a, b := timeOf(entry), timeOf(first); !a.Equal(b) {
		return a.After(b)
	}
	if a, b := countFields(entry), countFields(first); a != b {
		return a > b
	}
	return entry.Manager == defaultManager && first.Manager != defaultManager
}

// countFields returns the number of fields in an entry.
func countFields(entry *metav1.ManagedFieldsEntry) int {
	var fields any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return 0
	}
	return countBelow(fields)
}

func countBelow(fields any) int {
	below, _ := fields.(map[string]any)
	n := len(below)
	for _, f := range below {
		n += countBelow(f)
	}
	return n
}

// WriterOf returns the field manager of a record's data, by the managed fields of its Secret or ConfigMap; empty when
// unknown. A manager of Kubernetes, and a name of ours, is no writer of records. The API server names a client without
// a field manager by its user agent: Helm's command is Helm.
func WriterOf(managedFields []metav1.ManagedFieldsEntry) string {
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.FieldsV1 == nil || !bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:data"`)) {
			continue
		}
		switch name := entry.Manager; {
		case unknownManagers[name], name == managers.Revert, name == earlierManager, system(name):
		case strings.EqualFold(name, defaultManager):
			return defaultManager
		default:
			return name
		}
	}
	return ""
}

// Unset returns the changes of declared values that leave a field unset: the API server sets an empty type or address
// of a Service, and a port of zero. Only a dry run shows the value that the API server chooses. Without one, Unset
// assumes that the API server set every field without a foreign owner. o is Helm's owner of live, and managedFields are
// live's.
func (o Owner) Unset(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change, schema Schema,
) []Change {
	if len(managedFields) == 0 {
		return nil
	}
	owners := NewOwnership(managedFields, desired, live)
	foreign := func(manager string) bool { return manager != o.Manager && !system(manager) }
	return slices.DeleteFunc(slices.Clone(changes), func(ch Change) bool {
		path := ch.Segments()
		return ch.Op != Modified || path[0] == "metadata" || !isUnset(desired, schema.root, path) ||
			owners.Owned(path, foreign)
	})
}

// isUnset reports whether the value at path is a zero with the meaning of none. A declared false is a choice: the API
// server sets no such field to true.
func isUnset(v any, n *node, path []string) bool {
	for _, segment := range path {
		switch at := v.(type) {
		case map[string]any:
			v, n = at[segment], n.field(segment)
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(at) {
				return false
			}
			v, n = at[i], n.element()
		}
	}
	switch v.(type) {
	case bool, map[string]any, []any:
		return false
	}
	return sameAsAbsent(v, n)
}

// LeftByHelm returns the changes that the managed fields of a live object excuse: the last writer is Helm, and Helm
// owns the declared fields. deployed is the time of the revision's deployment by the clock of the API server, which
// also gives the times of managed fields. The other arguments are as for Attribute.
//
// A client may write under the name of Helm, so a later entry of Helm excuses nothing, and neither does a second entry
// of that name, by another operation. A patch that only removes fields leaves no entry, but removes the fields from the
// entry of Helm. Managed fields can be forged: use them only without better knowledge.
func (o Owner) LeftByHelm(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change, deployed metav1.Time,
) []Change {
	at := slices.IndexFunc(managedFields, func(e metav1.ManagedFieldsEntry) bool { return o.wrote(&e) })
	if !o.Known || at < 0 || timeOf(&managedFields[at]).IsZero() || timeOf(&managedFields[at]).After(deployed.Time) {
		return nil
	}
	for i := range managedFields {
		e := &managedFields[i]
		later := timeOf(e).IsZero() || timeOf(e).After(timeOf(&managedFields[at]))
		another := i != at && e.Manager == o.Manager // a client under the name of Helm
		if e.Subresource != "status" && (later || another) {
			return nil
		}
	}
	// All entries count: Helm still owns a map as such after others have taken over its keys.
	owners := NewOwnership(managedFields, desired, live)
	helms := func(manager string) bool { return manager == o.Manager }
	return slices.DeleteFunc(slices.Clone(changes), func(ch Change) bool {
		return ch.Op == Added || !owners.Owned(ch.Segments(), helms)
	})
}

// likeHelm reports whether an entry is that of another Helm than the present owner of the object. Releases move between
// the CLI and other tools, and the earlier tool still owns its fields. Ownership of Helm's metadata alone does not
// suffice: an apply of the whole edited object owns that too.
func likeHelm(entry *metav1.ManagedFieldsEntry) bool {
	if entry.Manager == ManagedBy(nil).Manager {
		return true
	}
	return strings.Contains(entry.Manager, "helm") && ManagedBy([]metav1.ManagedFieldsEntry{*entry}).Known
}

func (o Owner) wrote(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == o.Manager && entry.Operation == o.Operation && entry.Subresource == ""
}

// Applied returns a function that reports whether the owner owns a field of the live object by server-side apply. The
// arguments are as for NewOwnership.
func (o Owner) Applied(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any,
) func(path []string) bool {
	applied := slices.DeleteFunc(slices.Clone(managedFields), func(e metav1.ManagedFieldsEntry) bool {
		return !managers.Applied(&e, o.Manager)
	})
	ownership := NewOwnership(applied, desired, live)
	return func(path []string) bool { return ownership.Owned(path, func(string) bool { return true }) }
}
