//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// startTimeout bounds the start of everything with existing binaries, on a busy machine.
const startTimeout = 4 * time.Minute

// Node is a running node with its control plane.
type Node struct {
	Cluster *cluster.Cluster
	// Chart is the packed chart of the release of this tree. Its image is on the node.
	Chart string
	// EarlierChart is the chart of an earlier commit. Its image is on the node, too.
	EarlierChart string

	kube           kubernetes.Interface
	kubelet        *cluster.Process
	helmController *cluster.Process
}

// start starts the control plane and the node, and returns when Pods can run.
func start(ctx context.Context, p plan) (*Node, error) {
	c, err := cluster.Start(ctx, cluster.Options{ControllerManager: true, AuditLog: true, Address: Address,
		Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	n := &Node{Cluster: c, Chart: p.Chart, EarlierChart: p.EarlierChart}
	if n.kube, err = kubernetes.NewForConfig(c.RESTConfig()); err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	if err := writeConfiguration(os.Getenv(groupVariable), c.Dir()); err != nil {
		return nil, err
	}
	if err := n.startRuntime(ctx, p); err != nil {
		return nil, err
	}
	if err := n.startKubernetes(ctx); err != nil {
		return nil, err
	}
	if err := n.WaitReady(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// startRuntime starts containerd, and imports the images.
func (n *Node) startRuntime(ctx context.Context, p plan) error {
	containerd, err := run("containerd", "containerd", "--config", filepath.Join(root, "containerd.toml"))
	if err != nil {
		return err
	}
	ctr := "ctr --address " + socket + " --namespace k8s.io "
	if err := containerd.WaitFor(ctx, "containerd", func(context.Context) error {
		return commands(ctr + "version")
	}); err != nil {
		return err
	}
	var lines []string
	for _, i := range p.Images {
		lines = append(lines, ctr+"images import --base-name "+i.Name+" "+i.File)
	}
	return commands(lines...)
}

// startKubernetes starts the programs of Kubernetes, each as its own user.
func (n *Node) startKubernetes(ctx context.Context) error {
	binaries, err := cluster.BuildNode(ctx, os.Stderr)
	if err != nil {
		return err
	}
	err = errors.Join(n.addUser("kubelet", "system:node:"+Name, "system:nodes"),
		n.addUser("kube-proxy", "system:kube-proxy"), n.addUser("kube-scheduler", "system:kube-scheduler"))
	if err != nil {
		return err
	}
	_, err = run("kube-proxy", binaries.Proxy, "--config="+filepath.Join(root, "kube-proxy.yaml"))
	if err != nil {
		return err
	}
	_, err = run("kube-scheduler", binaries.Scheduler, "--kubeconfig="+n.kubeconfig("kube-scheduler"),
		"--authentication-kubeconfig="+n.kubeconfig("kube-scheduler"),
		"--authorization-kubeconfig="+n.kubeconfig("kube-scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1",
		"--cert-dir="+root)
	if err != nil {
		return err
	}
	return n.StartKubelet(ctx)
}

// addUser writes a kubeconfig for a program that acts as a user with groups.
func (n *Node) addUser(name, user string, groups ...string) error {
	config, err := n.Cluster.UserConfig(user, groups...)
	if err != nil {
		return err
	}
	_, err = n.Cluster.KubeconfigFor(name, config)
	return err
}

// run starts a program, with its log in the node's directory. It ends with the namespaces at the latest.
func run(name, path string, args ...string) (*cluster.Process, error) {
	return cluster.StartProcess(path, name, root, false, args...)
}

func (n *Node) kubeconfig(name string) string {
	return filepath.Join(n.Cluster.Dir(), name+".kubeconfig")
}

// StartKubelet starts the kubelet, also again after StopKubelet.
func (n *Node) StartKubelet(ctx context.Context) error {
	binaries, err := cluster.BuildNode(ctx, os.Stderr)
	if err != nil {
		return err
	}
	n.kubelet, err = run("kubelet", binaries.Kubelet, "--config="+filepath.Join(root, "kubelet.yaml"),
		"--kubeconfig="+n.kubeconfig("kubelet"), "--root-dir="+filepath.Join(root, "kubelet"), "--node-ip="+Address,
		"--hostname-override="+Name, "--cert-dir="+filepath.Join(root, "pki"), "--v=2")
	return err
}

// StopKubelet kills the kubelet. Its Pods go on running.
func (n *Node) StopKubelet() error { return n.kubelet.Kill() }

// WaitReady waits until the node is Ready.
func (n *Node) WaitReady(ctx context.Context) error {
	return n.kubelet.WaitFor(ctx, "a Ready node", func(ctx context.Context) error {
		found, err := n.kube.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		err = errors.New("it has no condition Ready")
		for _, c := range found.Status.Conditions {
			if c.Type == corev1.NodeReady {
				if c.Status == corev1.ConditionTrue {
					return nil
				}
				err = fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
		}
		return err
	})
}

// Logs returns the end of every log of the node, for the error of a test.
func (n *Node) Logs() string {
	var all string
	for _, name := range []string{"kubelet", "kube-proxy", "kube-scheduler", "containerd", "metrics-server",
		"helm-controller"} {
		all += cluster.LogTail(filepath.Join(root, name+".log")) + "\n"
	}
	return all
}
