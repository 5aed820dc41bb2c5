package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/watch"
)

// State classifies the difference of a live object.
type State string

const (
	// StateModified means that declared fields have other values or are missing.
	StateModified State = "Modified"
	// StateMissing means that the object does not exist.
	StateMissing State = "Missing"
	// StateDeleting means that the deletion of the object is pending, whether or not its fields differ.
	StateDeleting State = "BeingDeleted"
)

// Change is a changed field with its author from the object's managedFields. The author is zero when unknown.
type Change struct {
	drift.Change
	Author drift.Author
}

// Difference is one object with drift. It holds no value of a Secret.
type Difference struct {
	ID    manifest.ID
	State State
	// Changes are the changed fields. A missing object has none, and one in deletion may have none.
	Changes []Change
	// Want is the result of applying the release now, Have the live object; both are masked. Have is nil when the
	// object is missing.
	Want, Have map[string]any
	// TooLarge is set when Want and Have are left out: the object is large, and CompareOptions.Most bounds the
	// comparison.
	TooLarge bool
	// Note explains the difference, for example why an object cannot exist or what holds its deletion; often empty.
	Note string
	// Refused are the fields that the API server refuses to restore. A revert would restore the rest of the object.
	Refused []drift.Change
}

// Failure is an object without a result, with the error.
type Failure struct {
	ID  manifest.ID
	Err error
}

// Withheld is an object that was not read, with the reason.
type Withheld struct {
	ID  manifest.ID
	Why string
}

// Comparison is the result of comparing a release with the live objects.
type Comparison struct {
	Release  *whole.Release
	Compared int
	// Differences are in the order of kind, namespace and name.
	Differences []Difference
	// Additions counts the objects with fields that others added. Those are differences only in scope Strict.
	Additions int
	// Failures are the objects without a result. A comparison with failures is incomplete.
	Failures []Failure
	// Omitted counts the differences beyond CompareOptions.Most.
	Omitted int
	// Left lists the declared objects that are not compared, each with the reason.
	Left []string
	// Withheld lists the objects that CompareOptions.Withhold kept from being read.
	Withheld []Withheld
	// Local is the reason why the API server made no dry run; empty when it did. Without a dry run, Differences may
	// hold values that the server or a webhook rewrites.
	Local string
}

// CompareOptions configure a comparison.
type CompareOptions struct {
	Masker report.Masker
	// Strict also reports the additions of others (scope Strict of a HelmRelease).
	Strict bool
	// Rules are the ignore rules of the release's HelmRelease; nil for none.
	Rules *rules.Rules
	// Most bounds the number of Differences, and so the memory of a comparison; 0 for no bound. Any of the drifted
	// objects may be among them, and the rest are counted. With a bound, objects are read one after the other, and the
	// content of large ones is dropped.
	Most int
	// Account is the user to impersonate in dry runs; empty for the caller's own user. It needs a Cluster connected
	// with accounts.
	Account string
	// Withhold, if set, is called once, before any object is read. It returns a reason for each object that must not be
	// read, and leaves the others out.
	Withhold func(ctx context.Context, objects []manifest.Object) (map[manifest.ID]string, error)
	// Progress, if set, is called after each object, with the numbers of finished and of all objects. It is not called
	// concurrently.
	Progress func(done, all int)
}

// Source provides the live objects.
type Source interface {
	// Scope is a manifest.Scope.
	Scope() manifest.Scope
	// Get returns the live object; nil when it does not exist.
	Get(ctx context.Context, o *lock.Object) (*unstructured.Unstructured, error)
	// UnknownKind explains the absence of an object whose kind is unknown to Scope.
	UnknownKind() string
	// DryRun returns the live object as a revert would leave it, by a dry run. Without an answer, why is the reason.
	// The error is errChanged when the live object is outdated, and the API server's own when it refuses the content.
	DryRun(ctx context.Context, r *enforce.Revert) (after *unstructured.Unstructured, why string, err error)
	// Definition returns the CustomResourceDefinition of a kind; nil when there is none, or it cannot be read.
	Definition(ctx context.Context, gvk schema.GroupVersionKind) map[string]any
	// Declares reports whether the newest record of another release declares an object. It returns false for a record
	// that it cannot read.
	Declares(ctx context.Context, other release.Key, id manifest.ID) bool
	// Autoscalers returns the live objects of the judge.Scalers in a namespace. It leaves out those that it may not
	// read.
	Autoscalers(ctx context.Context, namespace string) []*unstructured.Unstructured
}

// errChanged means that an object changed during its comparison and must be read again.
var errChanged = errors.New("the object keeps changing while it is compared")

// attempts bounds the reads of an object that keeps changing.
const attempts = 5

type comparer struct {
	Comparison
	source  Source
	options CompareOptions
	schemas *drift.Schemas
	all     int
	secrets liveSecrets

	mu     sync.Mutex // guards Comparison and what follows
	done   int
	custom map[schema.GroupVersionKind]drift.Schema
}

// read parses the manifest of a release.
func read(details *whole.Release, scope manifest.Scope) (*judge.Manifest, error) {
	declared, err := judge.Read(details.Manifest, manifest.Release(details.Key), scope)
	if invalid := (*judge.InvalidError)(nil); errors.As(err, &invalid) {
		return nil, fmt.Errorf("the manifest of revision %d of release %s does not parse: %w", details.Revision,
			details.Key, invalid.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("revision %d of release %s: %w", details.Revision, details.Key, err)
	}
	return declared, nil
}

// differs records a difference. Beyond CompareOptions.Most it only counts.
func (c *comparer) differs(d *Difference) {
	if c.options.Most > 0 && len(c.Differences) >= c.options.Most {
		c.Omitted++
		return
	}
	if c.options.Most > 0 && (isLarge(d.Want) || isLarge(d.Have)) {
		d.Want, d.Have, d.TooLarge = nil, nil, true
	}
	c.Differences = append(c.Differences, *d)
}

func isLarge(content map[string]any) bool {
	return watch.IsLarge(&unstructured.Unstructured{Object: content})
}
