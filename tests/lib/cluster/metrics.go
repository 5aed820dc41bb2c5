package cluster

import (
	"context"
	"io"
	"time"
)

// MetricsModule is the module of metrics-server.
const MetricsModule = "sigs.k8s.io/metrics-server"

// BuildMetrics returns the path of metrics-server, and builds it if it is missing, as Build does.
func BuildMetrics(ctx context.Context, log io.Writer) (path string, err error) {
	err = provide(ctx, log, func(string) ([]program, error) {
		return []program{{name: "metrics-server", module: "metrics", pkg: MetricsModule + "/cmd/metrics-server",
			versionOf: MetricsModule, takes: 3 * time.Minute, path: func(*Binaries) *string { return &path }}}, nil
	}, &Binaries{})
	return path, err
}
