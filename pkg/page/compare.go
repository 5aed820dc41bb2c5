package page

import (
	"context"
	"crypto/rand"
	"fmt"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// keyBytes is the length of the key of the markers for values of Secrets. Each comparison has a key of its own, so the
// markers of two comparisons cannot be matched.
const keyBytes = 32

// compareWithCluster compares the release of a HelmRelease with the cluster, by the rules of the HelmRelease and with
// the viewer's rights. It leaves out the objects that the account of the release may not change.
func (p *Page) compareWithCluster(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (*comparison, error) {
	ref := hr.Spec.Release
	account, err := p.Accounts.Of(release.Key{Namespace: ref.Namespace, Name: ref.Name}, hr.Spec.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	cluster, err := p.Cluster(by.Token())
	if err != nil {
		return nil, err
	}
	records, record, err := current(ctx, cluster, hr)
	if err != nil {
		return nil, err
	}
	details, err := cluster.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	key := make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	options := inspect.CompareOptions{
		Masker: report.NewMasker(key), Strict: hr.Spec.Scope == v1alpha1.ScopeStrict, Most: mostDifferences,
		Withhold: func(ctx context.Context, objects []manifest.Object) (map[manifest.ID]string, error) {
			return p.rights().withhold(ctx, cluster, objects, account)
		},
	}
	if options.Rules, err = rules.Compile(hr.Spec.IgnoredAt(p.Clock.Now())); err != nil {
		return nil, err
	}
	compared, err := inspect.Compare(ctx, cluster, details, options)
	if err != nil {
		return nil, err
	}
	view, err := viewOfComparison(compared, by.Name(), p.Clock.Now())
	if err != nil {
		return nil, err
	}
	view.Notes = notes(hr, records, record, compared)
	return view, nil
}

// current returns the records of the release of a HelmRelease, and the record of its current revision.
func current(
	ctx context.Context, cluster *inspect.Cluster, hr *v1alpha1.HelmRelease,
) ([]release.Record, release.Record, error) {
	ref := hr.Spec.Release
	records, err := cluster.Records(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return nil, release.Record{}, err
	}
	record, found := inspect.Current(records)
	if !found {
		return nil, release.Record{}, fmt.Errorf("release %s has no record", ref)
	}
	return records, record, nil
}

// notes lists the limits of a comparison, and the revision if it is not the newest or not deployed.
func notes(hr *v1alpha1.HelmRelease, records []release.Record, record release.Record, c *inspect.Comparison) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, plain.Line(fmt.Sprintf(format, args...))) }
	if newest, _ := release.Newest(records); newest.Revision != record.Revision {
		note("revision %d is %s; this is about revision %d, the last one that was deployed", newest.Revision,
			newest.Status, record.Revision)
	} else if record.Status != release.StatusDeployed {
		note("revision %d is %s", record.Revision, record.Status)
	}
	if c.Local != "" && len(c.Differences) > 0 {
		note("compared without a dry run: %s; values that the API server or a webhook rewrites may look like drift",
			c.Local)
	}
	if len(hr.Spec.Ignore) > 0 {
		note("the ignore rules of the HelmRelease leave fields alone")
	}
	if n := len(c.Left); n > 0 {
		note("%s declared and not compared", plain.Count(n, "object"))
	}
	return notes
}
