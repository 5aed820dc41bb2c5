// Package chart installs the charts with real Helm on a real control plane. Since nothing runs Pods there, the
// operator runs as a local process with the arguments of the rendered Deployment, as the chart's ServiceAccount: a
// permission missing from the chart fails a test.
package chart

import (
	"os"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const (
	charts        = "../../charts"
	operatorChart = charts + "/helm-locker"
	exampleChart  = charts + "/helm-locker-example"
)

var (
	// binary is the program of the image.
	binary string
)

func TestMain(m *testing.M) {
	os.Exit(process.Main(func(path string) int {
		binary = path
		return kit.Run(m, cluster.Options{ControllerManager: true, AuditLog: true})
	}))
}

// newEnv returns an environment whose operator namespace accepts only Pods of the standard "restricted".
func newEnv(t *testing.T) *kit.Env {
	t.Helper()
	e := kit.New(t, kit.Shared)
	restrict(e, e.Operator)
	return e
}
