package cluster

import (
	"context"
	"io"
	"time"
)

// Modules of the programs beside the node of tests/node.
const (
	MetricsModule        = "sigs.k8s.io/metrics-server"
	HelmControllerModule = "github.com/k3s-io/helm-controller"
)

// BuildMetrics returns the path of metrics-server, and builds it if it is missing, as Build does.
func BuildMetrics(ctx context.Context, log io.Writer) (path string, err error) {
	return buildSingle(ctx, log, program{name: "metrics-server", module: "metrics", takes: 3 * time.Minute,
		pkg: MetricsModule + "/cmd/metrics-server", versionOf: MetricsModule})
}

// BuildHelmController is BuildMetrics for the helm-controller of k3s.
func BuildHelmController(ctx context.Context, log io.Writer) (path string, err error) {
	return buildSingle(ctx, log, program{name: "helm-controller", module: "helmcontroller", takes: time.Minute,
		pkg: HelmControllerModule, versionOf: HelmControllerModule})
}

// buildSingle builds a program with a directory of its own.
func buildSingle(ctx context.Context, log io.Writer, p program) (path string, err error) {
	p.path = func(*Binaries) *string { return &path }
	err = provide(ctx, func(string) ([]program, error) { return []program{p}, nil },
		builder{log: log, bins: &Binaries{}})
	return path, err
}
