package drift

import (
	"encoding/binary"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Select returns the entries of a baseline that keep accepts.
func (b Baseline) Select(keep func(entry string) bool) Baseline {
	kept := Baseline{}
	for key, fingerprint := range b {
		if keep(entryOf(key, fingerprint)) {
			kept[key] = fingerprint
		}
	}
	return kept
}

// Entries returns the entries of a baseline in the form for Select, in no order. It leaves out fields declared as null:
// any value of them is normal in the first observation of an object.
func (b Baseline) Entries() []string {
	entries := make([]string, 0, len(b))
	for key, fingerprint := range b {
		if !strings.HasSuffix(key, nullSuffix) {
			entries = append(entries, entryOf(key, fingerprint))
		}
	}
	return entries
}

func entryOf(key string, fingerprint uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(key), fingerprint))
}

// At returns the entries of a baseline for the paths of changes.
func (b Baseline) At(changes []Change) Baseline {
	kept := Baseline{}
	for _, ch := range changes {
		if fingerprint, found := b[ch.Path]; found {
			kept[ch.Path] = fingerprint
		}
	}
	return kept
}

// Paths returns the pointers of a baseline, in order. For an addition to a list it is that of the list.
func (b Baseline) Paths() []string {
	paths := make([]string, 0, len(b))
	for key := range b {
		for i := range len(key) - 1 { // within a pointer "~" is followed by 0 or 1
			if key[i] == '~' && key[i+1] != '0' && key[i+1] != '1' {
				key = strings.TrimSuffix(key[:i], "/")
				break
			}
		}
		paths = append(paths, key)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
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
