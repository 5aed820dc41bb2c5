package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/watch"
)

// State is how a live object differs from what the release declares.
type State string

const (
	// StateModified says that declared fields have other values, or are gone.
	StateModified State = "Modified"
	// StateMissing says that the object does not exist.
	StateMissing State = "Missing"
	// StateDeleting says that the deletion of the object is pending, whether or not its fields differ.
	StateDeleting State = "BeingDeleted"
)

// Change is a field that differs, and who changed it according to the object's managedFields; zero when that cannot
// be told.
type Change struct {
	drift.Change
	Author drift.Author
}

// Difference is one object that is not as the release declares it. No value of a Secret is in it.
type Difference struct {
	ID    manifest.ID
	State State
	// Changes are the fields that differ; none for a missing object, perhaps none for one whose deletion is pending.
	Changes []Change
	// Want is the object as it would be if the release were applied now, Have as it is; masked. Have is nil when it
	// is missing.
	Want, Have map[string]any
	// TooLarge is set when Want and Have are left out because the object is a large one and CompareOptions.Most
	// bounds the comparison.
	TooLarge bool
	// Note says more, for example why an object cannot exist or what holds its deletion; often empty.
	Note string
	// Refused are the fields that the API server refuses to restore. All else of the object would be restored.
	Refused []drift.Change
}

// Failure is an object that could not be compared.
type Failure struct {
	ID  manifest.ID
	Err error
}

// Withheld is an object that was not read, and why.
type Withheld struct {
	ID  manifest.ID
	Why string
}

// Comparison is how a release differs from the live objects.
type Comparison struct {
	Release  *release.Details
	Compared int
	// Differences are in the order of kind, namespace and name.
	Differences []Difference
	// Additions is how many objects have additions of others, which are no difference but in scope Strict.
	Additions int
	// Failures are what could not be compared; a comparison with failures is incomplete.
	Failures []Failure
	// Omitted is how many objects differ beyond CompareOptions.Most.
	Omitted int
	// Left is what the manifest declares and is not compared, and why.
	Left []string
	// Withheld are the objects that were not read because CompareOptions.Withhold says so.
	Withheld []Withheld
	// Local says why differences were judged without the API server's help, so that values which the server or a
	// webhook rewrites may be among them; empty when it helped.
	Local string
}

// CompareOptions are the choices of a comparison.
type CompareOptions struct {
	Masker report.Masker
	// Strict also reports what others added beside what the release declares (scope Strict of a HelmRelease).
	Strict bool
	// Rules are the ignore rules of the release's HelmRelease; nil for none.
	Rules *rules.Rules
	// Most bounds the number of Differences, any of the objects that differ, and so the memory that a comparison
	// takes; 0 for no bound. Beyond it they are counted. With a bound, objects are read one after the other, and of
	// large ones no content is kept.
	Most int
	// Account is the user in whose name dry runs are made; empty for the one who compares. The Cluster must have
	// been connected with accounts.
	Account string
	// Withhold, if set, is called once, before any object is read. It returns a reason for each object that must
	// not be read, and leaves the others out.
	Withhold func(ctx context.Context, objects []manifest.Object) (map[manifest.ID]string, error)
	// Progress, if set, is called after each object, with the number of those done and of all. It is not called
	// concurrently.
	Progress func(done, all int)
}

// Source is where live objects come from.
type Source interface {
	// Scope is a manifest.Scope.
	Scope() manifest.Scope
	// Get returns the live object; nil when it does not exist.
	Get(ctx context.Context, o *lock.Object) (*unstructured.Unstructured, error)
	// UnknownKind says why an object of a kind that Scope does not know is missing.
	UnknownKind() string
	// DryRun returns what the live object would become if the release were applied to it now, by a dry run. Why
	// says, when there is no answer, what stands against it. The error is errChanged when it is not the current
	// state any more, and that of the API server when it refuses the content.
	DryRun(ctx context.Context, r *enforce.Revert) (after *unstructured.Unstructured, why string, err error)
	// Definition returns the CustomResourceDefinition of a kind; nil when there is none, or it cannot be read.
	Definition(ctx context.Context, gvk schema.GroupVersionKind) map[string]any
	// Declares reports whether the newest record of another release declares an object, as far as that can be told.
	Declares(ctx context.Context, other release.Key, id manifest.ID) bool
	// Autoscalers returns the live objects of the judge.Scalers in a namespace, as far as they may be read.
	Autoscalers(ctx context.Context, namespace string) []*unstructured.Unstructured
}

// errChanged says that an object changed while it was compared, so that it has to be read again.
var errChanged = errors.New("the object keeps changing while it is compared")

// attempts bounds how often an object that changes is read again.
const attempts = 5

// lookTogether is how many objects are read at a time.
const lookTogether = 8

// Compare compares a release with the live objects of source. The error is about the release itself: a manifest
// that does not parse is not compared at all.
func Compare(
	ctx context.Context, source Source, details *release.Details, options CompareOptions,
) (*Comparison, error) {
	declared, err := read(details, source.Scope())
	if err != nil {
		return nil, err
	}
	schemas, err := drift.NewSchemas()
	if err != nil {
		return nil, err
	}
	plan := declared.Plan(judge.Own{}, options.Rules)
	readable, withheld, err := withhold(ctx, options, plan.Objects)
	if err != nil {
		return nil, err
	}
	c := &comparer{Comparison: Comparison{Release: details, Withheld: withheld}, source: source, options: options,
		schemas: schemas, custom: map[schema.GroupVersionKind]drift.Schema{}, all: len(readable)}
	for _, skipped := range declared.Skipped {
		c.Left = append(c.Left, skipped.String())
	}
	for _, e := range plan.Exempt {
		c.Left = append(c.Left, e.Object.ID.String()+": "+e.Exception.Message)
	}
	for _, o := range declared.Unknown {
		c.differs(&Difference{ID: o.ID, State: StateMissing, Want: o.Content, Note: source.UnknownKind()})
	}
	c.Compared = len(declared.Unknown)
	c.run(ctx, readable)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.mask(slices.Concat(declared.Objects, declared.Unknown)); err != nil {
		return nil, err
	}
	return &c.Comparison, nil
}

// read returns what the manifest of a release declares.
func read(details *release.Details, scope manifest.Scope) (*judge.Manifest, error) {
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

// withhold sorts out the objects that must not be read.
func withhold(ctx context.Context, options CompareOptions, objects []judge.Object) ([]judge.Object, []Withheld, error) {
	if options.Withhold == nil {
		return objects, nil, nil
	}
	asked := make([]manifest.Object, len(objects))
	for i := range objects {
		asked[i] = objects[i].Object
	}
	why, err := options.Withhold(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	var readable []judge.Object
	var withheld []Withheld
	for _, o := range objects {
		if reason, found := why[o.ID]; found {
			withheld = append(withheld, Withheld{o.ID, reason})
			continue
		}
		readable = append(readable, o)
	}
	return readable, withheld, nil
}

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

func (c *comparer) run(ctx context.Context, objects []judge.Object) {
	var group errgroup.Group
	together := lookTogether
	if c.options.Most > 0 {
		together = 1
	}
	group.SetLimit(together)
	for _, o := range objects {
		group.Go(func() error {
			if ctx.Err() == nil {
				c.object(ctx, &o)
			}
			return nil
		})
	}
	// The functions return no errors: each failure belongs to its object.
	_ = group.Wait()
	slices.Sort(c.Left)
	slices.SortFunc(c.Differences, func(a, b Difference) int { return a.ID.Compare(b.ID) })
	slices.SortFunc(c.Failures, func(a, b Failure) int { return a.ID.Compare(b.ID) })
}

// differs keeps a difference, as long as there is room.
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
