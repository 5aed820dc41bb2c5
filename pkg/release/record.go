package release

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// The fence: an operator writes a Secret of its own to learn the progress of its watch of records.
const (
	// OwnerFence is the owner of such a Secret. It is no record, and Helm does not read it. It has the type of records,
	// so that a watch of records delivers it.
	OwnerFence = "helm-locker"
	// FenceAnnotation holds the token of a fence. Each write has a new one.
	FenceAnnotation = "helm.cattle.io/mark"
)

// ErrRecord is the error of RecordOf: the metadata of a record is not in Helm's format.
var ErrRecord = errors.New("not a Helm release record")

// Record is the metadata of one stored record: one revision of a release.
type Record struct {
	Key             Key
	Storage         Storage
	ObjectName      string // of the Secret or ConfigMap
	UID             types.UID
	ResourceVersion string
	Revision        int
	Status          Status
	// Stored is when the API server created the object, in whole seconds by its clock.
	Stored time.Time
	// Created is when Helm stored the revision, Modified when Helm last changed its record. Whole seconds.
	Created  time.Time
	Modified time.Time
	// As is the release in the objects' metadata, if it differs from Key: the record is stored in another namespace.
	// Only the payload names it; a Record from metadata has the zero value.
	As Key
	// Contested is set by Newest when the release has records in another storage, too. Helm reads one of the two, and
	// nothing identifies which, so such a release is not locked.
	Contested bool
}

// Object names the object with the record, for people: "Secret NAMESPACE/NAME".
func (r Record) Object() string {
	return fmt.Sprintf("%s %s/%s", r.Storage.Kind(), r.Key.Namespace, r.ObjectName)
}

// Version identifies the content of the record: UID/RESOURCEVERSION of its object.
func (r Record) Version() string { return string(r.UID) + "/" + r.ResourceVersion }

// Selector returns the label selector for the records of the release called name, or for all records when name is
// empty. It returns an error for a name that is no valid value of a label.
func Selector(name string) (string, error) {
	set := labels.Set{OwnerLabel: OwnerHelm}
	if name != "" {
		set[NameLabel] = name
	}
	selector, err := set.AsValidatedSelector()
	if err != nil {
		return "", fmt.Errorf("select the records of a release: %w", err)
	}
	return selector.String(), nil
}

// SelectorWithFences returns the label selector for all records, and for the Secrets of OwnerFence.
func SelectorWithFences() string { return OwnerLabel + " in (" + OwnerHelm + "," + OwnerFence + ")" }

// ObjectName returns the name of the Secret or ConfigMap for one revision of a release.
func ObjectName(name string, revision int) string {
	return NamePrefix + name + ".v" + strconv.Itoa(revision)
}

// RecordOf reads the metadata of a record in this storage. An unknown status becomes StatusUnknown.
//
// Labels outside of Helm's format, or in conflict with the object's name, are an ErrRecord. The Record returned with it
// still names the object, with Key and Revision from the object's name (zero for any other name), so that the caller
// can report the error for the release. Do not skip such a record and lock an older one: it may be the newest.
func (s Storage) RecordOf(m metav1.Object) (Record, error) {
	rec := Record{Storage: s, ObjectName: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}
	rec.Key.Namespace = m.GetNamespace()
	fail := func(format string, args ...any) (Record, error) {
		args = append([]any{rec.Object(), ErrRecord}, args...)
		return rec, fmt.Errorf("%s is %w: "+format+"; "+advice, args...)
	}

	name, revision, ok := splitObjectName(m.GetName())
	if !ok {
		return fail("its name is not of the form %sNAME.vREVISION", NamePrefix)
	}
	rec.Key.Name, rec.Revision = name, revision
	if KeyOf(rec.Key.Namespace, name) == (Key{}) {
		return fail("Helm takes no release of that name")
	}

	labels := m.GetLabels()
	for _, want := range []struct{ label, value string }{
		{OwnerLabel, OwnerHelm},
		{NameLabel, name},
		{VersionLabel, strconv.Itoa(revision)},
	} {
		got, found := labels[want.label]
		if !found {
			return fail("label %q is missing, it must be %q", want.label, want.value)
		}
		if got != want.value {
			return fail("label %q is %q, it must be %q", want.label, got, want.value)
		}
	}
	status, found := labels[StatusLabel]
	if !found || status == "" {
		return fail("label %q is missing", StatusLabel)
	}
	rec.Status = parseStatus(status)

	// Helm sets createdAt when it creates the Secret and drops it for modifiedAt when it updates it.
	rec.Stored = m.GetCreationTimestamp().UTC()
	rec.Created = rec.Stored
	created, found, err := unixLabel(labels, CreatedLabel)
	if err != nil {
		return fail("%w", err)
	}
	if found && created.After(rec.Created) {
		rec.Created = created
	}
	rec.Modified = rec.Created
	modified, found, err := unixLabel(labels, ModifiedLabel)
	if err != nil {
		return fail("%w", err)
	}
	// A new revision starts with the labels of the one before, so the time in this one may be older than the Secret.
	if found && modified.After(rec.Modified) {
		rec.Modified = modified
	}
	return rec, nil
}

// Same reports whether two records are the same stored object in the same state: same uid and resourceVersion, and
// contested alike. Revision numbers do not suffice: a re-install starts again at 1. A record without uid or
// resourceVersion is the same as none.
func (r Record) Same(o Record) bool {
	return r.UID != "" && r.ResourceVersion != "" && r.UID == o.UID && r.ResourceVersion == o.ResourceVersion &&
		r.Contested == o.Contested
}

// Newest returns the record with the highest revision, false when there is none. The records must be of one release.
// Two records of one revision (a list during a re-install) are ordered by age, then by uid and resourceVersion.
//
// Each storage has a newest record of its own, because Helm reads one of them. If both have records, Newest returns the
// one modified last as contested. A release that is uninstalled in one storage (helm uninstall --keep-history) is only
// in the other one.
func Newest(records []Record) (Record, bool) {
	newest := newestByStorage(records)
	last, found := newest[Secrets]
	other, both := newest[ConfigMaps]
	switch {
	case !both:
		return last, found
	case !found:
		return other, true
	}
	if writtenAfter(other, last) {
		last, other = other, last
	}
	switch {
	case other.Status == StatusUninstalled:
	case last.Status == StatusUninstalled:
		return other, true
	default:
		last.Contested = true
	}
	return last, true
}

// NewestOfEach returns the newest record of each storage with the release. It leaves out a storage in which the release
// is uninstalled. Helm may work by any of them. The records must be of one release.
func NewestOfEach(records []Record) (each []Record) {
	newest := newestByStorage(records)
	for _, storage := range Storages {
		if rec, found := newest[storage]; found && rec.Status != StatusUninstalled {
			each = append(each, rec)
		}
	}
	return each
}

func newestByStorage(records []Record) map[Storage]Record {
	newest := map[Storage]Record{}
	for _, rec := range records {
		if known, found := newest[rec.Storage]; !found || compareAge(rec, known) > 0 {
			newest[rec.Storage] = rec
		}
	}
	return newest
}

// writtenAfter reports whether a record was written after one of the other storage. Their times are whole seconds, so
// resourceVersions order records of one second. That is right if the API server keeps both kinds in one etcd, its
// default. Otherwise the order may be wrong, and nothing relies on it: the release is contested in either case.
func writtenAfter(a, b Record) bool {
	if !a.Modified.Equal(b.Modified) {
		return a.Modified.After(b.Modified)
	}
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}

func compareAge(a, b Record) int {
	return cmp.Or(
		cmp.Compare(a.Revision, b.Revision),
		a.Created.Compare(b.Created),
		a.Modified.Compare(b.Modified),
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.ResourceVersion, b.ResourceVersion),
	)
}

// splitObjectName splits the name at the last ".v", because release names may contain dots. The revision must be in
// Helm's notation, so that one revision has one name.
func splitObjectName(object string) (name string, revision int, ok bool) {
	rest, ok := strings.CutPrefix(object, NamePrefix)
	if !ok {
		return "", 0, false
	}
	i := strings.LastIndex(rest, ".v")
	if i <= 0 {
		return "", 0, false
	}
	revision, err := strconv.Atoi(rest[i+len(".v"):])
	if err != nil || revision < 1 || ObjectName(rest[:i], revision) != object {
		return "", 0, false
	}
	return rest[:i], revision, true
}

func unixLabel(labels map[string]string, label string) (time.Time, bool, error) {
	value, found := labels[label]
	if !found {
		return time.Time{}, false, nil
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, false, fmt.Errorf("label %q is %q, it must be a Unix time in seconds", label, value)
	}
	return time.Unix(seconds, 0).UTC(), true, nil
}
