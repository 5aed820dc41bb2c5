package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// childVariable makes this test binary start a cluster and wait to be killed, for TestKilledTestLeavesNothingRunning.
const childVariable = "HELM_LOCKER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	c, err := Start(context.Background(), Options{Dir: os.Getenv(childVariable)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.etcd.pid, c.apiServer.process.pid)
	select {}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	check.NoError(t, err)
	return client
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// eventually polls until the condition holds, for the asynchronous effects of controllers and signals.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx := testContext(t)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

func running(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestRestartPauseAndStop(t *testing.T) {
	ctx := testContext(t)
	started := time.Now()
	c, err := Start(ctx, Options{Log: os.Stderr})
	check.NoError(t, err)
	t.Logf("started in %s", time.Since(started))
	stopped := false
	t.Cleanup(func() {
		if err := c.Stop(); err != nil && !stopped {
			t.Error(err)
		}
	})
	client := clientFor(t, c.RESTConfig())
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, configMap("kept"), metav1.CreateOptions{})
	check.NoError(t, err)

	started = time.Now()
	address := c.RESTConfig().Host
	check.NoError(t, c.RestartAPIServer(ctx))
	t.Logf("restarted in %s", time.Since(started))
	if c.RESTConfig().Host != address {
		t.Errorf("the API server moved from %s to %s", address, c.RESTConfig().Host)
	}
	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{})
	check.Report(t, err)

	check.NoError(t, c.Pause())
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err = client.CoreV1().ConfigMaps("default").Get(short, "kept", metav1.GetOptions{})
	check.That(t, err != nil, "a paused API server answered")
	check.NoError(t, c.Resume())
	_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{})
	check.Report(t, err)

	check.NoError(t, c.StopAPIServer())
	err = c.Pause()
	check.That(t, err != nil, "a stopped API server was paused")
	check.NoError(t, c.StartAPIServer(ctx))
	pids := []int{c.etcd.pid, c.apiServer.process.pid}
	stopped = true
	check.Report(t, c.Stop())
	for _, pid := range pids {
		check.That(t, !running(pid), "process %d still runs", pid)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(address, "https://")); err == nil {
		t.Errorf("%s still accepts connections (close: %v)", address, conn.Close())
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory %s is left: %v", c.Dir(), err)
	}
}
