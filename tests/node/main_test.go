//go:build linux

// Package node installs the chart of this tree on a real node, from the image of its release: kubelet runs the Pods,
// kube-proxy leads to the guard, and everything that ends a Pod in a cluster ends it here.
//
// It needs root, namespaces, control groups and some programs; without them it names what is missing, and exits with 3.
package node

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

// shared is the node of this package; nil with -short.
var shared *lib.Node

func TestMain(m *testing.M) {
	os.Exit(lib.Main(m, func(n *lib.Node) { shared = n }))
}

// patience bounds what a node does: it starts Pods, and notices their end.
const patience = 3 * time.Minute

// fixture is an environment whose namespaces accept only Pods of the standard "restricted".
type fixture struct{ *kit.Env }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	if shared == nil {
		t.Skip("needs a node")
	}
	f := &fixture{kit.New(t, shared.Cluster)}
	for _, namespace := range []string{f.Operator, f.Apps} {
		f.PatchIn(namespaces, "", namespace, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	}
	t.Cleanup(f.end)
	return f
}

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// end ends all Pods of the test. After a failure it shows the logs first.
func (f *fixture) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if f.Failed() {
		for _, namespace := range []string{f.Operator, f.Apps} {
			f.Log(f.describe(ctx, namespace))
		}
		f.Log(shared.Logs())
	}
	if _, err := shared.Cluster.Helm3().Run(ctx, "uninstall", "helm-locker", "--namespace", f.Operator,
		"--ignore-not-found", "--wait"); err != nil {
		f.Error(err)
	}
	for _, namespace := range []string{f.Operator, f.Apps} {
		check.Report(f, f.Kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	}
}

// describe returns the Pods of a namespace with their logs, and its events.
func (f *fixture) describe(ctx context.Context, namespace string) string {
	var all strings.Builder
	pods, err := f.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, p := range pods.Items {
		fmt.Fprintf(&all, "%s/%s: %s %+v\n", namespace, p.Name, p.Status.Phase, p.Status.ContainerStatuses)
		for _, previous := range []bool{true, false} {
			options := &corev1.PodLogOptions{Previous: previous}
			log, err := f.Kube.CoreV1().Pods(namespace).GetLogs(p.Name, options).DoRaw(ctx)
			if err == nil {
				fmt.Fprintf(&all, "log (previous: %v):\n%s\n", previous, log[max(0, len(log)-8000):])
			}
		}
	}
	events, err := f.Kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, e := range events.Items {
		fmt.Fprintf(&all, "%s %s %s: %s\n", e.LastTimestamp.Format(time.TimeOnly), e.InvolvedObject.Name, e.Reason, e.Message)
	}
	return all.String()
}

// install installs the chart of this tree with values, or upgrades it, and waits until all Pods are Ready.
func (f *fixture) install(h cluster.Helm, values ...string) {
	f.Helper()
	f.installChart(h, shared.Chart, values...)
}

// installChart is install for another chart.
func (f *fixture) installChart(h cluster.Helm, chart string, values ...string) {
	f.Helper()
	args := []string{"upgrade", "--install", "helm-locker", chart, "--namespace", f.Operator, "--wait", "--timeout", "3m"}
	for i, v := range values {
		file := filepath.Join(f.TempDir(), fmt.Sprintf("%d.yaml", i))
		check.NoError(f, os.WriteFile(file, []byte(v), 0o600))
		args = append(args, "--values", file)
	}
	_, err := h.Run(f.Ctx, args...)
	check.NoError(f, err)
}

// pods returns the Pods of the operator's namespace with a prefix of their names, the oldest first, without the ending
// ones.
func (f *fixture) pods(prefix string) []corev1.Pod {
	f.Helper()
	list, err := f.Kube.CoreV1().Pods(f.Operator).List(f.Ctx, metav1.ListOptions{})
	check.NoError(f, err)
	found := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || !strings.HasPrefix(p.Name, prefix)
	})
	slices.SortFunc(found, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return found
}

// within polls a condition for as long as a node may take.
func (f *fixture) within(limit time.Duration, what string, holds func() error) {
	f.Helper()
	deadline := time.After(limit)
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			f.Fatalf("waited in vain until %s: %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serveOnNode serves HTTP at the node's address until the end of the test, and returns host and port.
func serveOnNode(f *fixture, handler http.Handler) string {
	f.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(lib.Address, "0"))
	check.NoError(f, err)
	server := &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
	server.Start()
	f.Cleanup(server.Close)
	return listener.Addr().String()
}
