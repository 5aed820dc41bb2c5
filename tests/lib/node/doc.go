//go:build linux

// Package node runs one real Kubernetes node beside a control plane of package cluster: containerd, runc, kubelet,
// kube-proxy and kube-scheduler, with a bridge for Pods. Images are those that this tree builds; there is no registry.
//
// All of it, the control plane and the tests too, runs in network, mount, process and host name namespaces of its own:
//
//	outside   the process that `go test` starts: checks the rights, builds, and enters the namespaces
//	init      process 1 of the namespaces: mounts, network; it reaps, and its end ends every other process
//	tests     the tests of the suite
//
// The kernel removes bridges, mounts, firewall rules and processes with the namespaces, whatever ends a test.
// Control groups have no namespace for that: outside removes them, and those of killed runs.
package node
