// Package chart installs the charts with real Helm on a real control plane. Since nothing runs Pods there, the operator
// runs as a local process with exactly what the rendered Deployment says, as the ServiceAccount that the chart made for it:
// a permission that the chart forgot fails a test.
package chart

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rancher/helm-locker/tests/cluster"
	"github.com/rancher/helm-locker/tests/kit"
)

const (
	charts        = "../../charts"
	operatorChart = charts + "/helm-locker"
	exampleChart  = charts + "/helm-locker-example"
)

var (
	// shared is the control plane of this package; nil with -short.
	shared *cluster.Cluster
	// binary is the program that the image would contain.
	binary string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "helm-locker-chart-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	binary = filepath.Join(dir, "helm-locker")
	build := exec.Command("go", "build", "-o", binary, "../..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return cluster.Main(m, cluster.Options{ControllerManager: true, AuditLog: true}, func(c *cluster.Cluster) { shared = c })
}

// newEnv returns an environment whose operator namespace takes only Pods of the standard "restricted".
func newEnv(t *testing.T) *kit.Env {
	t.Helper()
	e := kit.New(t, shared)
	restrict(e, e.Operator)
	return e
}

// helms are the Helm versions that a test runs with.
func helms() map[string]cluster.Helm { return kit.Helms(shared) }
