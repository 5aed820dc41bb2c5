// Package cluster runs a real Kubernetes control plane (etcd, kube-apiserver and, when asked for,
// kube-controller-manager) as child processes on loopback, for tests, benchmarks and the demo. There are no nodes:
// objects are stored, validated, defaulted, watched and garbage collected as in any cluster, but no Pod ever runs.
//
// The binaries are built from source by the nested modules under tests/controlplane, once per machine and version. The
// demo may fetch some.
//
//	c := cluster.ForTest(t, cluster.Options{ControllerManager: true})
//	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
//	out, err := c.Helm3().Run(ctx, "install", "demo", chartDir)
//
// A Proxy in front of the API server injects faults (held watch streams, failed or dropped requests) and records every
// request. The package works on Linux and other Unix systems.
package cluster
