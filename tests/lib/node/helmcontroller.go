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
	path, err := cluster.BuildHelmController(ctx, os.Stderr)
	if err != nil {
		return err
	}
	const user = "helm-controller"
	config, err := n.Cluster.UserConfig(user, "system:masters")
	if err != nil {
		return err
	}
	if _, err := n.Cluster.KubeconfigFor(user, config); err != nil {
		return err
	}
	n.helmController, err = run(user, path, "--kubeconfig="+n.kubeconfig(user), "--node-name="+Name)
	return err
}
