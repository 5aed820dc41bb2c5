//go:build linux

package node

import (
	"context"
	"os"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// HelmJob3 and HelmJob4 are the images of tests/node/helmjob, with Helm 3 and Helm 4.
const (
	HelmJob3 = own + "helmjob:3"
	HelmJob4 = own + "helmjob:4"
)

// StartHelmController starts the helm-controller of k3s beside the node, unless it runs, until the end of the tests. As
// in k3s, it has all rights.
func (n *Node) StartHelmController(ctx context.Context) error {
	if n.helmController != nil {
		return nil
	}
	bins, err := cluster.BuildNeighbour(ctx, os.Stderr, "helmcontroller")
	if err != nil {
		return err
	}
	const user = "helm-controller"
	if err := n.addUser(user, user, "system:masters"); err != nil {
		return err
	}
	n.helmController, err = run(user, bins.HelmController, "--kubeconfig="+n.kubeconfig(user), "--node-name="+Name)
	return err
}
