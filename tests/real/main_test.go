// Package real tests locked releases beside the real controllers and tools of others, built from their modules. Helm
// installs a controller from its own manifests, and these are locked, too. tests/neighbours has stand-ins of these and
// of others.
package real

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

func TestMain(m *testing.M) {
	code := kit.Run(m, cluster.Options{ControllerManager: true})
	if code == 0 && *record {
		if err := all.write(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// built returns the programs of the neighbour, and builds the missing ones. Without a control plane the test is
// skipped.
func (n neighbour) built(t *testing.T) cluster.Binaries {
	t.Helper()
	if kit.Shared == nil {
		t.Skip("needs a control plane")
	}
	binaries, err := cluster.BuildNeighbour(t.Context(), os.Stderr, n.folder)
	check.NoError(t, err)
	return binaries
}

// installOwn installs the manifests of a neighbour, in files of its module, into a namespace by Helm, and locks them.
func installOwn(f *kit.Fixture, name, namespace string, files ...string) {
	f.Helper()
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.NoError(f, err)
		all = append(all, string(text))
	}
	joined := filepath.Join(f.TempDir(), "manifest.yaml")
	check.NoError(f, os.WriteFile(joined, []byte(strings.Join(all, "\n---\n")), 0o600))
	chart, args := kit.ManifestChart(f, name, name, joined)
	installChart(f, name, namespace, chart, args...)
}

// installChart installs a chart of a neighbour into a namespace, and locks the release.
func installChart(f *kit.Fixture, name, namespace, chart string, args ...string) {
	f.Helper()
	args = append([]string{"install", name, chart, "--namespace", namespace, "--create-namespace"}, args...)
	if out, err := kit.Shared.Helm3().Run(f.Ctx, args...); err != nil {
		f.Fatalf("install %s: %v\n%s", name, err, out)
	}
	f.Lock(name, func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Namespace = namespace })
}

// start runs the program of a neighbour until the end of the test. Its log is shown after a failure.
func start(f *kit.Fixture, config *rest.Config, namespace, path string, args ...string) {
	f.Helper()
	name := filepath.Base(path)
	kubeconfig, err := kit.Shared.KubeconfigFor(name, config)
	check.NoError(f, err)
	log, err := os.Create(filepath.Join(f.TempDir(), name+".log"))
	check.NoError(f, err)
	cmd := exec.Command(path, append(args, "--kubeconfig", kubeconfig)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "POD_NAMESPACE="+namespace, "WATCH_NAMESPACE=", "KEDA_CLUSTER_OBJECT_NAMESPACE="+namespace)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check.NoError(f, cmd.Start())
	ended := make(chan struct{})
	var how error // set before ended is closed
	go func() {
		defer close(ended)
		how = cmd.Wait()
	}()
	f.Cleanup(func() {
		select {
		case <-ended:
			f.Errorf("%s ended: %v", name, how)
		default:
			check.Report(f, cmd.Process.Kill())
			<-ended
		}
		check.Report(f, log.Close())
		if text, err := os.ReadFile(log.Name()); err == nil && f.Failed() {
			f.Logf("end of the log of %s:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
}

// ports returns flags with free ports.
func ports(f *kit.Fixture, flags ...string) []string {
	f.Helper()
	var all []string
	for _, flag := range flags {
		port, err := process.FreePort()
		check.NoError(f, err)
		all = append(all, fmt.Sprintf(flag, port))
	}
	return all
}

// runPods makes every Pod Ready until the end of the test, as there is no node.
func runPods(f *kit.Fixture) {
	f.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Ctx))
	pods, err := f.Kube.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	check.NoError(f, err)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for event := range pods.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod || pod.DeletionTimestamp != nil || isPodReady(pod) {
				continue
			}
			if err := makeReady(ctx, f.Kube, pod); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
		}
	}()
	f.Cleanup(func() {
		cancel()
		pods.Stop()
		check.Report(f, <-done)
	})
}

// isPodReady reports whether a Pod is Ready. The Pods of a node without a kubelet lose the condition after a while.
func isPodReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// makeReady writes the status of a Pod as a kubelet would.
func makeReady(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err := client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || errors.Is(err, context.Canceled) {
		return nil // it is gone, or its next event comes
	}
	return err
}
