//go:build linux

package node

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// MetricsPort is the port of metrics-server, at Address.
const MetricsPort = 4443

// StartMetrics starts metrics-server beside the node, until the end of the tests. The API server reaches it once it is
// registered.
func (n *Node) StartMetrics(ctx context.Context) error {
	bins, err := cluster.BuildNeighbour(ctx, os.Stderr, "metrics")
	if err != nil {
		return err
	}
	const user = "metrics-server"
	if err := n.addUser(user, user, "system:masters"); err != nil {
		return err
	}
	_, err = run(user, bins.Metrics, "--kubeconfig="+n.kubeconfig(user),
		"--authentication-kubeconfig="+n.kubeconfig(user), "--authorization-kubeconfig="+n.kubeconfig(user),
		"--authorization-always-allow-paths=/apis,/apis/*,/openapi/*", "--kubelet-insecure-tls",
		"--kubelet-preferred-address-types=InternalIP", "--metric-resolution=10s", "--kubelet-request-timeout=5s",
		"--bind-address="+Address, "--secure-port="+strconv.Itoa(MetricsPort), "--cert-dir="+filepath.Join(root, "metrics"))
	return err
}
