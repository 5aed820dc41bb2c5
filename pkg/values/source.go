// Package values finds the Helm value behind a field of a release: it renders the recorded chart with other values, and
// compares the output with the recorded manifest. It is pure: no client, no files, no network. Rendering runs untrusted
// templates and cannot be interrupted, so callers bound it from outside, in a process of its own.
package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/release"
)

// Source holds everything needed to render a release again.
type Source struct {
	release.Key
	// Revision is that of Manifest, Next the number for an upgrade.
	Revision, Next int
	// Chart is the recorded chart, without sub-charts.
	Chart json.RawMessage
	// Archive is a package of the chart, used instead of Chart unless empty.
	Archive []byte
	// Config are the user's values, a JSON object.
	Config json.RawMessage
	// Manifest is the recorded one.
	Manifest string
	// KubeVersion is the version of Kubernetes, empty for Helm's default; APIVersions are the served versions and kinds
	// in Helm's notation ("apps/v1", "apps/v1/Deployment").
	KubeVersion string
	APIVersions []string
}

// MissingChartsError reports sub-charts of a chart. Helm does not record them.
type MissingChartsError struct{ Names []string }

func (e *MissingChartsError) Error() string {
	return "the chart has sub-charts, which Helm does not store in the record: " + strings.Join(e.Names, ", ")
}

// LoadChart returns the chart of a Source. The error is a *MissingChartsError when only a part of it was recorded.
func (s *Source) LoadChart() (*chart.Chart, error) {
	if len(s.Archive) > 0 {
		c, err := loader.LoadArchive(bytes.NewReader(s.Archive))
		if err != nil {
			return nil, fmt.Errorf("read the chart: %w", err)
		}
		return c, nil
	}
	var c chart.Chart
	if err := json.Unmarshal(s.Chart, &c); err != nil || c.Metadata == nil {
		return nil, errors.New("the record holds no chart that can be read")
	}
	if missing := subCharts(&c, s.Manifest); len(missing) > 0 {
		return nil, &MissingChartsError{Names: missing}
	}
	if err := c.Validate(); err != nil { // a tenant may have written the record: the name becomes that of a file
		return nil, fmt.Errorf("the chart in the record: %w", err)
	}
	values, err := yaml.Marshal(c.Values)
	if err != nil {
		return nil, fmt.Errorf("encode the values of the chart: %w", err)
	}
	// A package has its values in a file. The record keeps only their content.
	c.Raw = []*chart.File{{Name: chartutil.ValuesfileName, Data: values}}
	return &c, nil
}

// sourceLine matches Helm's comment at the beginning of a sub-chart's document in a manifest.
var sourceLine = regexp.MustCompile(`(?m)^# Source: [^/\n]+/charts/([^/\n]+)/`)

// subCharts returns the missing sub-charts of a recorded chart: its dependencies, and the charts of templates in the
// manifest.
func subCharts(c *chart.Chart, manifest string) []string {
	var names []string
	for _, dependency := range c.Metadata.Dependencies {
		if dependency != nil {
			names = append(names, dependency.Name)
		}
	}
	for _, found := range sourceLine.FindAllStringSubmatch(manifest, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// config returns a new copy of the user's values.
func (s *Source) config() (map[string]any, error) {
	config := map[string]any{}
	if len(s.Config) == 0 {
		return config, nil
	}
	if err := json.Unmarshal(s.Config, &config); err != nil {
		return nil, errors.New("the values in the record are no JSON object")
	}
	return config, nil
}

// capabilities returns those of Helm itself where the Source has none.
func (s *Source) capabilities() (*chartutil.Capabilities, error) {
	caps := chartutil.DefaultCapabilities.Copy()
	if s.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(s.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("%q is no version of Kubernetes", s.KubeVersion)
		}
		caps.KubeVersion = *version
	}
	if len(s.APIVersions) > 0 {
		caps.APIVersions = s.APIVersions
	}
	return caps, nil
}

// clone copies the parts of a chart that rendering changes: its values, and the set of active sub-charts.
func clone(c *chart.Chart) *chart.Chart {
	if c == nil {
		return nil
	}
	metadata := *c.Metadata
	metadata.Dependencies = nil
	for _, dependency := range c.Metadata.Dependencies {
		d := *dependency
		metadata.Dependencies = append(metadata.Dependencies, &d)
	}
	copied := &chart.Chart{Metadata: &metadata, Raw: c.Raw, Lock: c.Lock, Templates: c.Templates, Schema: c.Schema,
		Files: c.Files}
	copied.Values, _ = copyOf(c.Values).(map[string]any)
	var dependencies []*chart.Chart
	for _, d := range c.Dependencies() {
		dependencies = append(dependencies, clone(d))
	}
	copied.SetDependencies(dependencies...)
	return copied
}

// copyOf returns a deep copy of a JSON value.
func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return map[string]any(nil)
		}
		m := make(map[string]any, len(v))
		for key, member := range v {
			m[key] = copyOf(member)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, element := range v {
			l[i] = copyOf(element)
		}
		return l
	}
	return value
}
