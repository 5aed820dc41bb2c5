package inspect

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

// readsAtOnce is the number of objects read at a time.
const readsAtOnce = 8

// Compare compares a release with the live objects of source. The error is about the release itself, for example a
// manifest that does not parse.
func Compare(
	ctx context.Context, source Source, details *whole.Release, options CompareOptions,
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

// withhold separates the objects that must not be read from the others.
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

func (c *comparer) run(ctx context.Context, objects []judge.Object) {
	var group errgroup.Group
	atOnce := readsAtOnce
	if c.options.Most > 0 {
		atOnce = 1
	}
	group.SetLimit(atOnce)
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

// mask takes the values of all Secrets of the release, declared and live ones, out of both sides of every difference.
func (c *comparer) mask(declared []manifest.Object) error {
	if c.options.Masker.Show || len(c.Differences) == 0 {
		return nil
	}
	values, err := c.secrets.values(declared)
	if err != nil {
		return fmt.Errorf("release %s: %w", c.Release.Key, err)
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		d.Want, d.Have = c.options.Masker.Object(d.Want, values), c.options.Masker.Object(d.Have, values)
	}
	return nil
}
