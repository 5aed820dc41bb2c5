package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
)

// comparedFlags are the flags that select the comparison.
func comparedFlags() []cli.Flag {
	return append(slices.Concat(baselineFlags(), severityFlags()),
		allNamespacesFlag(), allowEmptyFlag(),
		selectorFlag("only releases"),
		&cli.BoolFlag{Name: "strict", Category: categoryWhat,
			Usage: "also show what others added beside what the release declares; the default for a release that a HelmRelease locks with scope Strict"},
		&cli.BoolFlag{Name: "no-ignore", Category: categoryWhat,
			Usage: "compare what the ignore rules of the release's HelmRelease leave alone, too"},
		helmReleaseNamespaceFlag(),
	)
}

// checkCompared refuses ambiguous combinations of comparedFlags.
func checkCompared(ctx context.Context, cmd *cli.Command) error {
	names := cmd.Args().Slice()
	if len(names) > 0 && cmd.String("selector") != "" {
		return command.UsageError(ctx, cmd, errors.New("names of releases and --selector exclude each other"), true)
	}
	scoped := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "/") })
	if scoped >= 0 && cmd.Bool("all-namespaces") {
		return command.UsageError(ctx, cmd, errTwoScopes(names[scoped]), true)
	}
	return checkBaseline(ctx, cmd)
}

// candidate is a release to compare.
type candidate struct {
	key     release.Key
	records []release.Record
	// labels are those of the newest record.
	labels labels.Set
	// err reports an invalid record; nil when all are valid.
	err error
	// details are the compared revision, if read already.
	details *whole.Release
}

// candidates returns the releases selected by arguments and flags, in order: the named ones, else those of a
// namespace, or of all when it is empty. A missing named one is an error.
func (a *app) candidates(
	ctx context.Context, cmd *cli.Command, c *connection, namespace string,
) ([]candidate, error) {
	if cmd.Args().Present() {
		return c.namedCandidates(ctx, cmd)
	}
	selector, err := parseSelector(cmd, selectorName)
	if err != nil {
		return nil, err
	}
	all, err := c.allCandidates(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(of candidate) bool { return !selector.Matches(of.labels) }), nil
}

func (c *connection) namedCandidates(ctx context.Context, cmd *cli.Command) ([]candidate, error) {
	keys, err := c.keys(cmd, func(name string) ([]release.Key, error) { return c.called(ctx, name) })
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, key := range keys {
		records, err := c.Records(ctx, key.Namespace, key.Name)
		if err == nil && len(records) == 0 {
			if _, err = c.Find(ctx, key, 0); err == nil { // says what may have been meant
				err = fmt.Errorf("release %s was being installed; try again", key)
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, candidate{key: key, records: records})
	}
	return all, nil
}

// allCandidates returns the releases of a namespace, or of all when it is empty, in order.
func (c *connection) allCandidates(ctx context.Context, namespace string) ([]candidate, error) {
	records, err := c.Labelled(ctx, namespace)
	if err != nil {
		return nil, err
	}
	byKey := map[release.Key]*candidate{}
	for _, r := range records {
		key := r.Key
		if key.Name == "" {
			key.Name = r.ObjectName // which is none that Helm gives
		}
		if byKey[key] == nil {
			byKey[key] = &candidate{key: key}
		}
		of := byKey[key]
		of.err = cmp.Or(of.err, r.Err)
		of.records = append(of.records, r.Record)
		if newest, _ := release.Newest(of.records); newest.Same(r.Record) {
			of.labels = r.Labels
		}
	}
	var all []candidate
	for _, key := range slices.SortedFunc(maps.Keys(byKey), compareKeys) {
		all = append(all, *byKey[key])
	}
	return all, nil
}

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
	*app
	cmd    *cli.Command
	source inspect.Source
	masker report.Masker
	// named reports that the user has named the releases.
	named bool
	gathered
}

// gather compares releases with the objects of source. An error of one of several releases does not affect the
// others. The returned error is about a single release, or about all.
func (a *app) gather(
	ctx context.Context, cmd *cli.Command, source inspect.Source, all []candidate,
) (*gathered, error) {
	masker, err := a.masker(false)
	if err != nil {
		return nil, err
	}
	rated, err := ratingsOf(cmd)
	if err != nil {
		return nil, err
	}
	c := &comparing{app: a, cmd: cmd, source: source, masker: masker, named: cmd.Args().Present()}
	c.ratings = rated
	c.locks, c.hidden = a.locksOf(ctx, cmd, source)
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
	if err := c.asLocked(c.cmd, c.locks, of.key, &options); err != nil {
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
		record, err := c.current(of.records, c.named)
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
	c.noteComparison(comparison)
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
func (a *app) current(records []release.Record, named bool) (release.Record, error) {
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
