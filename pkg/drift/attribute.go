package drift

import (
	"bytes"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// helmMarkers are the fields that Helm sets on every object, as they are written in managedFields.
var helmMarkers = [...][]byte{
	[]byte(`"f:meta.helm.sh/release-name"`),
	[]byte(`"f:meta.helm.sh/release-namespace"`),
	[]byte(`"f:app.kubernetes.io/managed-by"`),
}

// ManagedBy returns Helm's manager on an object: the one that owns meta.helm.sh/release-name. Where somebody else took
// a part of Helm's metadata over by changing it, the manager that owns most of it wins, then the one that has helm
// in its name.
func ManagedBy(managedFields []metav1.ManagedFieldsEntry) Owner {
	owner, best := Owner{Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate}, 0
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		score, fields := 0, entry.FieldsV1.GetRawBytes()
		for _, marker := range helmMarkers {
			if bytes.Contains(fields, marker) {
				score += 2
			}
		}
		if score == 0 || score == 2 && !bytes.Contains(fields, helmMarkers[0]) {
			continue
		}
		if strings.Contains(entry.Manager, "helm") {
			score++
		}
		if score > best {
			best = score
			owner = Owner{Manager: entry.Manager, Operation: entry.Operation, Known: true}
		}
	}
	return owner
}

// Author is who made a change, as the API server recorded it. The zero value means that it is not known.
type Author struct {
	Manager     string
	Operation   string
	Subresource string
	// Time is when this manager last changed what it owns, in whole seconds.
	Time time.Time
}

// Attribute says who made changes, which Compare found between desired and live. managedFields are those of live.
//
// It is the foreign manager that owns a changed path, the latest if there are several. A removed field has no
// owner any more: for removals alone it is the manager that wrote last, unless Helm wrote later, when nobody can
// tell. Where Helm's own entry owns a value that was changed, somebody wrote under Helm's name, and that name is
// returned with its time.
func Attribute(managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change, helm Owner) Author {
	var owner, own, last, helmLast *metav1.ManagedFieldsEntry
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.Subresource == "status" {
			continue
		}
		byHelm := helm.wrote(entry)
		switch {
		case byHelm && later(entry, helmLast):
			helmLast = entry
		case !byHelm && later(entry, last):
			last = entry
		}
		if !ownsAny(entry, desired, live, changes) {
			continue
		}
		switch {
		case byHelm && later(entry, own):
			own = entry
		case !byHelm && later(entry, owner):
			owner = entry
		}
	}
	removal := slices.ContainsFunc(changes, func(c Change) bool { return c.Op == Removed })
	switch {
	case owner != nil:
		return authorOf(owner)
	case own != nil:
		return authorOf(own)
	case removal && last != nil && !timeOf(last).IsZero() && !timeOf(last).Before(timeOf(helmLast)):
		return authorOf(last)
	}
	return Author{}
}

func (o Owner) wrote(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == o.Manager && entry.Operation == o.Operation && entry.Subresource == ""
}

func timeOf(entry *metav1.ManagedFieldsEntry) time.Time {
	if entry == nil || entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}

// later says whether a was written after b; an entry is later than none.
func later(a, b *metav1.ManagedFieldsEntry) bool { return b == nil || timeOf(a).After(timeOf(b)) }

func authorOf(entry *metav1.ManagedFieldsEntry) Author {
	return Author{
		Manager:     entry.Manager,
		Operation:   string(entry.Operation),
		Subresource: entry.Subresource,
		Time:        timeOf(entry),
	}
}
