package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
)

// gathered is the result of comparing releases.
type gathered struct {
	comparisons []*inspect.Comparison
	// failed are the releases that could not be compared, with the reason; leftOut are those without a deployed
	// revision.
	failed, leftOut []failedRelease
	locks           []*v1alpha1.HelmRelease
	// declared are the drifted objects as the manifests have them. They are not masked.
	declared map[release.Key][]manifest.Object
	// known counts the objects with no other drift than that of the baseline.
	known map[release.Key]int
	// ratings rate the drift.
	ratings ratings
	// hidden is the error when the HelmReleases could not be read.
	hidden error
	// namespace is the one whose releases were selected, empty for all; host is the address of the API server.
	namespace, host string
}

type failedRelease struct {
	key release.Key
	err error
}

func hasDrifted(c *inspect.Comparison) bool   { return len(c.Differences) > 0 }
func isIncomplete(c *inspect.Comparison) bool { return len(c.Failures) > 0 }

// comparing is a comparison of releases in progress.
type comparing struct {
	*action
	source inspect.Source
	masker report.Masker
	// named reports that the user has named the releases.
	named bool
	gathered
}

// gather compares releases with the objects of source. An error of one of several releases does not affect the
// others. The returned error is about a single release, or about all.
func gather(
	ctx context.Context, a *action, source inspect.Source, all []candidate,
) (*gathered, error) {
	masker, err := newMasker(false)
	if err != nil {
		return nil, err
	}
	rated, err := ratingsOf(a)
	if err != nil {
		return nil, err
	}
	c := &comparing{action: a, source: source, masker: masker, named: a.cmd.Args().Present()}
	c.ratings = rated
	c.locks, c.hidden = locksOf(ctx, a, source)
	for i, of := range all {
		err := c.compare(ctx, of, a.progress(of.key, i+1, len(all)))
		var nothing *nothingDeployedError
		switch {
		case err == nil:
		case errors.As(err, &nothing):
			a.note("note: %v", err)
			c.leftOut = append(c.leftOut, failedRelease{of.key, err})
		case ctx.Err() != nil || len(all) == 1:
			return nil, err
		default:
			fmt.Fprintln(a.errOut, explain(a.name, err))
			c.failed = append(c.failed, failedRelease{of.key, err})
		}
	}
	return &c.gathered, nil
}

// compare compares one release. The error is a *nothingDeployedError for an unnamed release without a revision to
// compare.
func (c *comparing) compare(ctx context.Context, of candidate, progress func(done, all int)) error {
	options := inspect.CompareOptions{Masker: c.masker, Strict: c.cmd.Bool("strict"), Progress: progress}
	if err := asLocked(c.action, c.locks, of.key, &options); err != nil {
		return err
	}
	if err := c.compareWith(ctx, of, options); err != nil {
		return err
	}
	c.noteDefinitions(ctx, of)
	return c.noteMisspelt(c.comparisons[len(c.comparisons)-1].Release)
}

// noteDefinitions prints the gaps in the definitions of a named release's chart directory crds/. Helm installs these
// once, so that they are compared and never enforced.
func (c *comparing) noteDefinitions(ctx context.Context, of candidate) {
	cluster, ok := c.source.(*connection)
	record, found := inspect.Current(of.records)
	if !ok || !c.named || !found {
		return
	}
	gaps, err := cluster.DefinitionGaps(ctx, record)
	if err != nil {
		c.note("note: the definitions in crds/ of release %s are not compared: %v", of.key, err)
	}
	for _, gap := range gaps {
		c.note("note: crds/ of release %s, which Helm does not upgrade: %s", of.key, gap)
	}
}

// compareWith is compare with other options than those of the release's HelmRelease.
func (c *comparing) compareWith(ctx context.Context, of candidate, options inspect.CompareOptions) error {
	if of.err != nil {
		return of.err
	}
	details := of.details
	if cluster, ok := c.source.(*connection); ok && details == nil {
		record, err := currentOf(c.action, of.records, c.named)
		if err != nil {
			return err
		}
		if details, err = cluster.Read(ctx, record); err != nil {
			return err
		}
	}
	comparison, err := inspect.Compare(ctx, c.source, details, options)
	if err != nil {
		return err
	}
	c.comparisons = append(c.comparisons, comparison)
	noteComparison(c.action, comparison)
	if !hasDrifted(comparison) {
		return nil
	}
	objects, err := inspect.Objects(details, c.source.Scope())
	if err != nil {
		return err
	}
	if c.declared == nil {
		c.declared = map[release.Key][]manifest.Object{}
	}
	c.declared[details.Key] = slices.DeleteFunc(objects, func(o manifest.Object) bool {
		return !slices.ContainsFunc(comparison.Differences, func(d inspect.Difference) bool { return d.ID == o.ID })
	})
	return nil
}

// nothingDeployedError reports that no revision of a release is deployed.
type nothingDeployedError struct{ newest release.Record }

func (e *nothingDeployedError) Error() string {
	return fmt.Sprintf("release %s is left out: no revision of it is deployed (the newest, %d, is %s)", e.newest.Key,
		e.newest.Revision, e.newest.Status)
}

// current returns the revision of a release for the comparison. A named release always has one.
func currentOf(a *action, records []release.Record, named bool) (release.Record, error) {
	newest, _ := release.Newest(records)
	record, _ := inspect.Current(records)
	switch {
	case newest.Contested:
		return record, &inspect.ContestedError{Key: newest.Key}
	case record.Status != release.StatusDeployed && !named:
		return record, &nothingDeployedError{newest}
	case record.Status != release.StatusDeployed:
		a.note("note: revision %d of release %s is %s", record.Revision, record.Key, record.Status)
	case record.Revision != newest.Revision:
		a.note("note: revision %d of release %s is %s; compared with revision %d, the last one that was deployed",
			newest.Revision, newest.Key, newest.Status, record.Revision)
	}
	return record, nil
}

// noteComparison prints the objects that were not, or not fully, compared.
func noteComparison(a *action, c *inspect.Comparison) {
	if c.Local != "" && len(c.Differences) > 0 {
		a.note(
			"note: release %s is compared locally: %s; what the API server or a webhook makes of a value may look like drift", c.Release.Key, c.Local,
		)
	}
	for _, failure := range c.Failures {
		a.note("cannot compare %s of release %s: %v", failure.ID, c.Release.Key, failure.Err)
		for _, hint := range hintsFor(a.name, failure.Err) {
			a.note("  %s", hint)
		}
	}
	for _, left := range c.Left {
		a.note("note: not compared: %s", left)
	}
}

// noteMisspelt names paths of the ignore rules of a release's HelmRelease that are no field of its objects, and
// resemble one: the lock reverts that one.
func (c *comparing) noteMisspelt(details *whole.Release) error {
	for _, hr := range c.locks {
		if keyOf(hr) != details.Key || len(hr.Spec.Ignore) == 0 {
			continue
		}
		objects, err := inspect.Objects(details, c.source.Scope())
		if err != nil {
			return err
		}
		misspelt, _ := idlePaths(hr, objects)
		for _, text := range misspelt {
			c.note("note: HelmRelease %s/%s %s", hr.Namespace, hr.Name, text)
		}
	}
	return nil
}
