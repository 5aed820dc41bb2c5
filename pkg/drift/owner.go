package drift

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/managers"
)

// Owner is the field manager through which Helm wrote an object.
type Owner struct {
	// Manager is its name: "helm", "helm-controller", "terraform-provider-helm", ...
	Manager string
	// Operation is Apply after a server-side apply (Helm 4), else Update.
	Operation metav1.ManagedFieldsOperationType
	// Known is false when no manager owns Helm's metadata on the object, and the rest is the default: helm, Update.
	Known bool
}

// ManagedBy returns Helm's manager on an object: the one that owns meta.helm.sh/release-name. Where another
// manager took a part of Helm's metadata over by changing it, the manager that owns most of it wins, then the one
// that has helm in its name. Of two tools that are built on Helm (Flux and the helm command, say) the one that wrote
// last wins: its next upgrade counts on its share. Without helm in their names nothing tells such a tool from who
// applies an object as it was read and edited, so there the first entry wins. Times have whole seconds; on a tie it
// is the one that owns most fields, then helm itself.
func ManagedBy(managedFields []metav1.ManagedFieldsEntry) Owner {
	var best *metav1.ManagedFieldsEntry
	bestScore := 0
	for i := range managedFields {
		entry := &managedFields[i]
		score := helmScore(entry)
		if score > bestScore || score > 0 && score == bestScore && hasHelmName(entry) && outranks(entry, best) {
			best, bestScore = entry, score
		}
	}
	if best == nil {
		return Owner{Manager: defaultManager, Operation: metav1.ManagedFieldsOperationUpdate}
	}
	return Owner{Manager: best.Manager, Operation: best.Operation, Known: true}
}

// MadeBy reports whether an object may be one that a manager created: it owns Helm's metadata by an update.
func MadeBy(managedFields []metav1.ManagedFieldsEntry, manager string) bool {
	return slices.ContainsFunc(managedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" &&
			managers.Owns(&e, managers.ReleaseName)
	})
}

// defaultManager is the field manager of the helm command.
const defaultManager = "helm"

// helmScore is higher the more of Helm's metadata an entry owns, and for equal parts with helm in its name. It is 0
// for an entry that cannot be Helm's.
func helmScore(entry *metav1.ManagedFieldsEntry) int {
	score := 2 * managers.HelmFields(entry)
	if score > 0 && hasHelmName(entry) {
		score++
	}
	return score
}

func hasHelmName(entry *metav1.ManagedFieldsEntry) bool {
	return strings.Contains(entry.Manager, "helm")
}

// outranks reports whether an entry goes before one of the same score that was found first.
func outranks(entry, first *metav1.ManagedFieldsEntry) bool {
	if a, b := timeOf(entry), timeOf(first); !a.Equal(b) {
		return a.After(b)
	}
	if a, b := countFields(entry), countFields(first); a != b {
		return a > b
	}
	return entry.Manager == defaultManager && first.Manager != defaultManager
}

// countFields returns how many fields an entry names.
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

// WriterOf returns the field manager that wrote the data of a record, by the managed fields of its Secret or ConfigMap;
// empty when unknown. A writer of Kubernetes, and a name of ours, is no writer of records. The API server names a
// client without a field manager by its user agent: Helm's command is Helm.
func WriterOf(managedFields []metav1.ManagedFieldsEntry) string {
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.FieldsV1 == nil || !bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:data"`)) {
			continue
		}
		switch name := entry.Manager; {
		case unknownManagers[name], name == RevertManager, name == earlierManager, system(name):
		case strings.EqualFold(name, defaultManager):
			return defaultManager
		default:
			return name
		}
	}
	return ""
}
