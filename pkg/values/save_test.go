package values

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// The package stands in for the recorded chart: it renders to the same, with the same values.
func TestSavedChartRendersTheSame(t *testing.T) {
	s := recorded(t, "testdata/shop", `{"web":{"replicas":4}}`)
	path, err := s.Save(t.TempDir())
	check.NoError(t, err)
	check.Equal(t, filepath.Base(path), "shop-1.4.2.tgz", "the package is called")
	s.Archive, err = os.ReadFile(path)
	check.NoError(t, err)
	f, err := newFinder(s, nil)
	check.NoError(t, err)
	check.That(t, len(f.answers.Mismatch) == 0, "it renders otherwise: %+v", f.answers.Mismatch)
}

// A chart's name comes from a record, which a tenant may write.
func TestSaveStaysInItsDirectory(t *testing.T) {
	for _, name := range []string{"../up", "/tmp/root", "a/b", ""} {
		chart, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"apiVersion": "v2", "name": name, "version": "1.0.0"}})
		check.NoError(t, err)
		path, err := (&Source{Chart: chart}).Save(t.TempDir())
		check.That(t, err != nil, "a chart called %q is in %s", name, path)
	}
}

// Helm records no sub-charts, and half a chart must not stand in for a whole one.
func TestSubChartsAreMissing(t *testing.T) {
	for name, s := range map[string]*Source{
		"named": {Chart: json.RawMessage(`{"metadata":{"name":"shop","dependencies":[{"name":"db"}]}}`)},
		"in the manifest only": {Chart: json.RawMessage(`{"metadata":{"name":"shop"}}`),
			Manifest: "---\n# Source: shop/charts/db/templates/all.yaml\n"},
	} {
		var missing *MissingChartsError
		_, err := s.Save(t.TempDir())
		check.That(t, errors.As(err, &missing) && strings.Join(missing.Names, " ") == "db", "%s: %v", name, err)
	}
}
