// Package release decodes stored releases of Helm: the metadata of a record into a Record, its payload into a Release.
// It is pure: no client, no logging, no context.
//
// Helm keeps one Secret (or ConfigMap, see Storage) per revision, named sh.helm.release.v1.NAME.vREVISION, in the
// release's namespace. The labels name, owner, status and version repeat values of the payload, so the metadata alone
// shows the current revision. The payload is needed only for a revision to lock.
package release

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Values of ApplyMethod, Helm's way to write the objects of a release.
const (
	// ApplyMethodServerSide is server-side apply, the default of Helm 4.
	ApplyMethodServerSide = "ssa"
	// ApplyMethodClientSide is Helm's three-way patch, chosen with Helm 4.
	ApplyMethodClientSide = "csa"
	// ApplyMethodUnset is stored by Helm 3; it means a client-side three-way patch.
	ApplyMethodUnset = ""
)

// Release is the part of a stored release needed for locking.
type Release struct {
	// Key is the release in the objects' annotations. Its namespace is the default for objects without one. Most
	// tools store the record there, too; Flux can store it in another namespace.
	Key
	// Revision counts from 1.
	Revision int
	Status   Status
	// Description is Helm's log line about the revision, Notes the rendered NOTES.txt; both may be empty. Notes of a
	// chart can hold passwords: show them only where Helm's users would look for them.
	Description string
	Notes       string
	// Manifest is the rendered YAML without hooks. Never empty.
	Manifest string
	// BeforeObjects is set when Helm has not reached the objects of the revision, according to its hooks: an earlier
	// one has failed, or may still run. Only Decode and DecodeRecord set it.
	BeforeObjects bool
	// Hooks are the names of the hooks. Only Decode and DecodeRecord set them.
	Hooks Hooks
	// ApplyMethod is one of the ApplyMethod constants.
	ApplyMethod string
	// ChartName and ChartVersion are empty when the chart's metadata is missing.
	ChartName    string
	ChartVersion string
	// AppVersion is the version of the deployed application according to the chart; often empty.
	AppVersion string
	// FirstDeployed and LastDeployed are zero when Helm did not store them.
	FirstDeployed time.Time
	LastDeployed  time.Time
}

// Matches returns nil when the payload belongs to the record: name, revision and status agree, and the payload's
// namespace is valid. Otherwise it returns an ErrMismatch with the difference. Helm writes both together, so a
// difference means that a user edited or renamed the object. The namespaces may differ: the record's is that of its
// storage, the payload's is that of the objects.
func (r *Release) Matches(rec Record) error {
	if problems := validation.IsDNS1123Label(r.Namespace); len(problems) > 0 {
		return fmt.Errorf("%w: namespace %s in the payload is none; %s", ErrMismatch, quote(r.Namespace), advice)
	}
	var field, payload, record string
	switch {
	case r.Name != rec.Key.Name:
		field, payload, record = "name", quote(r.Name), quote(rec.Key.Name)
	case r.Revision != rec.Revision:
		field, payload, record = "revision", fmt.Sprint(r.Revision), fmt.Sprint(rec.Revision)
	case r.Status != rec.Status:
		field, payload, record = "status", quote(string(r.Status)), quote(string(rec.Status))
	default:
		return nil
	}
	return fmt.Errorf("%w: %s is %s in the payload and %s in the metadata of %s; %s",
		ErrMismatch, field, payload, record, rec.Object(), advice)
}

// quote shortens quoted text: payload fields have no bound of their own.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
