package drift

import (
	"bytes"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// Owner is the field manager through which Helm wrote an object.
type Owner struct {
	// Manager is its name: "helm", "helm-controller", "terraform-provider-helm", ...
	Manager string
	// Operation is Apply after a server-side apply (Helm 4), else Update.
	Operation metav1.ManagedFieldsOperationType
	// Known is false when nobody owns Helm's metadata on the object, and the rest is the default: helm, Update.
	Known bool
}

// helmMarkers are the fields that Helm sets on every object, as they are named in managedFields.
var helmMarkers = [...]string{
	"f:meta.helm.sh/release-name",
	"f:meta.helm.sh/release-namespace",
	"f:app.kubernetes.io/managed-by",
}

// quotedMarkers are helmMarkers as they are in JSON.
var quotedMarkers = [...][]byte{[]byte(`"` + helmMarkers[0] + `"`), []byte(`"` + helmMarkers[1] + `"`),
	[]byte(`"` + helmMarkers[2] + `"`)}

// marks says which of helmMarkers a manager owns.
type marks [len(helmMarkers)]bool

// ManagedBy returns Helm's manager on an object: the one that owns meta.helm.sh/release-name. Where somebody else
// took a part of Helm's metadata over by changing it, the manager that owns most of it wins, then the one that has
// helm in its name. Of two tools that are built on Helm (Flux and the helm command, say) the one that wrote last
// wins: its next upgrade counts on its share. Without helm in their names nothing tells such a tool from who
// applies an object as it was read and edited, so there the first entry wins. Times have whole seconds; on a tie it
// is the one that owns most fields, then helm itself.
func ManagedBy(managedFields []metav1.ManagedFieldsEntry) Owner {
	found := newSearch()
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		owned, fields := marks{}, entry.FieldsV1.GetRawBytes()
		for m, name := range quotedMarkers {
			owned[m] = bytes.Contains(fields, name)
		}
		found.meets(entry.Manager, entry.Operation, owned, decodedEntry{entry})
	}
	return found.owner
}

// ManagedIn is ManagedBy for the managedFields of an object, which are read as they are: who only wants to know the
// manager need not have all of them decoded. Those that may not be well formed are decoded, since one that is not
// makes all void.
func ManagedIn(live *unstructured.Unstructured) Owner {
	metadata, _ := live.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	found := newSearch()
	for _, item := range entries {
		entry, ok := item.(map[string]any)
		if !ok || !wellFormed(entry) {
			return ManagedBy(live.GetManagedFields())
		}
		if subresource, _ := entry["subresource"].(string); subresource != "" {
			continue
		}
		owned := marks{}
		owned.find(entry["fieldsV1"])
		manager, _ := entry["manager"].(string)
		operation, _ := entry["operation"].(string)
		found.meets(manager, metav1.ManagedFieldsOperationType(operation), owned, rawEntry(entry))
	}
	return found.owner
}

// wellFormed reports whether an entry of managedFields surely decodes.
func wellFormed(entry map[string]any) bool {
	for _, field := range [...]string{"manager", "operation", "apiVersion", "fieldsType", "subresource"} {
		switch entry[field].(type) {
		case nil, string:
		default:
			return false
		}
	}
	switch at := entry["time"].(type) {
	case nil:
		return true
	case string:
		_, err := time.Parse(time.RFC3339, at)
		return err == nil
	}
	return false
}

// find marks what is named in fields, which is part of a FieldsV1, until there is nothing left to mark.
func (m *marks) find(fields any) {
	switch f := fields.(type) {
	case string:
		m.name(f)
	case map[string]any:
		for key, below := range f {
			if m[0] && m[1] && m[2] {
				return
			}
			m.name(key)
			m.find(below)
		}
	case []any:
		for _, element := range f {
			m.find(element)
		}
	}
}

func (m *marks) name(text string) {
	for i, name := range helmMarkers {
		// A quote before the name is one in the JSON text, too, where it has a backslash before it.
		if before, found := strings.CutSuffix(text, name); found && (before == "" || strings.HasSuffix(before, `"`)) {
			m[i] = true
		}
	}
}

// standing is what tells entries of equal score apart. Both are only asked for where two entries are equal.
type standing interface {
	at() time.Time // in whole seconds; zero when not known
	size() int     // how many fields the entry names
}

type decodedEntry struct{ *metav1.ManagedFieldsEntry }

func (e decodedEntry) at() time.Time { return timeOf(e.ManagedFieldsEntry) }

func (e decodedEntry) size() int {
	var fields any
	if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
		return 0
	}
	return countFields(fields)
}

type rawEntry map[string]any

func (e rawEntry) at() time.Time {
	text, _ := e["time"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (e rawEntry) size() int { return countFields(e["fieldsV1"]) }

func countFields(fields any) int {
	below, _ := fields.(map[string]any)
	n := len(below)
	for _, f := range below {
		n += countFields(f)
	}
	return n
}

// search is for the manager that owns most of Helm's metadata.
type search struct {
	owner Owner
	best  int
	by    standing // of the best; nil before there is one
}

func newSearch() search {
	return search{owner: Owner{Manager: defaultManager, Operation: metav1.ManagedFieldsOperationUpdate}}
}

// defaultManager is the field manager of the helm command.
const defaultManager = "helm"

func (s *search) meets(manager string, operation metav1.ManagedFieldsOperationType, owned marks, by standing) {
	score := 0
	for _, is := range owned {
		if is {
			score += 2
		}
	}
	if score == 0 || score == 2 && !owned[0] {
		return
	}
	named := strings.Contains(manager, "helm")
	if named {
		score++
	}
	if score > s.best || score == s.best && named && s.outranked(manager, by) {
		s.owner, s.best, s.by = Owner{Manager: manager, Operation: operation, Known: true}, score, by
	}
}

// outranked reports whether an entry of the best score goes before the one that was found first.
func (s *search) outranked(manager string, by standing) bool {
	if a, b := by.at(), s.by.at(); !a.Equal(b) {
		return a.After(b)
	}
	if a, b := by.size(), s.by.size(); a != b {
		return a > b
	}
	return manager == defaultManager && s.owner.Manager != defaultManager
}
