package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/values"
)

// valued is a release whose values are asked for.
type valued struct {
	*action
	details *whole.Release
	source  *values.Source
	// archive is a package of the chart, by its path; empty for none that is known.
	archive string
	// declared are the objects of the manifest, as it has them.
	declared []manifest.Object
	masker   report.Masker
	// secrets are live Secrets, whose values must not be printed either.
	secrets []map[string]any
}

// loadRelease reads what it takes to render a release again.
func loadValued(ctx context.Context, a *action, c *connection) (*valued, error) {
	key, err := c.key(a.cmd.Args().First())
	if err != nil {
		return nil, err
	}
	records, err := c.Records(ctx, key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	newest, found := release.Newest(records)
	if !found {
		_, err := c.Find(ctx, key, 0) // says what may have been meant
		return nil, err
	}
	record, err := currentOf(a, records, true)
	if err != nil {
		return nil, err
	}
	details, err := c.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	v := &valued{action: a, details: details}
	set, err := manifest.Parse(details.Manifest)
	if err != nil {
		return nil, fmt.Errorf("the manifest of revision %d of release %s does not parse: %w", details.Revision, key,
			err)
	}
	v.declared = set.Objects
	v.source = &values.Source{Key: details.Key, Revision: details.Revision, Next: newest.Revision + 1,
		Config: details.Values, Manifest: details.Manifest}
	if v.source.Chart, err = c.Chart(ctx, record); err != nil {
		return nil, err
	}
	if err := v.capabilities(c); err != nil {
		return nil, err
	}
	return v, nil
}

// capabilities completes the source by flags and by what the cluster serves.
func (v *valued) capabilities(c *connection) error {
	if name := v.cmd.String("chart"); name != "" {
		archive, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		v.source.Archive, v.archive = archive, name
	}
	caps, err := c.Capabilities()
	if err != nil {
		return err
	}
	v.source.KubeVersion = caps.KubeVersion
	if version := v.cmd.String("kube-version"); version != "" {
		v.source.KubeVersion = version
	}
	v.source.APIVersions = slices.Concat(caps.APIVersions, v.cmd.StringSlice("api-versions"))
	return nil
}

// missingCharts adds the way out to the error for a chart that is not recorded as a whole.
func missingCharts(err error) error {
	if missing := (*values.MissingChartsError)(nil); errors.As(err, &missing) {
		return command.Hinted(err, "--chart takes a package of the chart: helm pull it, or helm package it")
	}
	return err
}
