// Package charts has the charts on which the search for values is measured and replayed.
package charts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Chart is a chart in the repository, the one of `helm create`, or one in a Go module.
type Chart struct {
	Name string
	// Module is the Go module that holds the chart, and Dir the directory there, or in the repository.
	Module, Dir string
}

// Local are the charts that need no network.
func Local() []Chart {
	return []Chart{{"shop (of the tests)", "", "pkg/values/testdata/shop"}, {"`helm create`", "", ""}}
}

// All are the local and the public charts. These come from the Go module proxy.
func All() []Chart {
	return append(Local(),
		Chart{"metrics-server", "sigs.k8s.io/metrics-server@v0.7.2", "charts/metrics-server"},
		Chart{"external-dns", "sigs.k8s.io/external-dns@v0.15.1", "charts/external-dns"})
}

// Path returns the directory of a chart, for a test two directories below the root of the repository.
func (c Chart) Path(t testing.TB) string {
	t.Helper()
	if c.Module == "" && c.Dir != "" {
		return filepath.Join("..", "..", c.Dir)
	}
	if c.Module == "" {
		dir, err := chartutil.Create("scaffold", t.TempDir())
		check.NoError(t, err)
		return dir
	}
	download := exec.Command("go", "mod", "download", "-json", c.Module)
	download.Dir = t.TempDir()
	download.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := download.Output()
	check.NoError(t, err)
	var module struct{ Dir string }
	check.NoError(t, json.Unmarshal(out, &module))
	return filepath.Join(module.Dir, c.Dir)
}
