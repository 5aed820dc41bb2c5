package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// nodeName is the node of the Pods in these tests.
const nodeName = "node-of-the-tests"

// deployed is the program of a Deployment as a local process.
type deployed struct {
	*kit.Env
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// metrics is the URL of /metrics.
	metrics   string
	container *corev1.Container
}

// freePorts returns chart values with free ports: here all Pods share one network.
func freePorts(t testing.TB) string {
	t.Helper()
	var numbers []any
	for len(numbers) < 5 {
		if number := any(freePort(t)); !slices.Contains(numbers, number) {
			numbers = append(numbers, number)
		}
	}
	return fmt.Sprintf("{ports: {metrics: %d, health: %d}, policies: {ports: {metrics: %d, health: %d}}, guard: {port: %d}}\n",
		numbers...)
}

// startDeployment starts the first container of a Deployment in the operator's namespace as a kubelet would: with its
// arguments, environment and the token of its ServiceAccount. It returns when its readiness probe succeeds. The
// operator is stopped at the end of the test, or by stop.
func startDeployment(e *kit.Env, c *cluster.Cluster, name string) *deployed {
	e.Helper()
	d, err := e.Kube.AppsV1().Deployments(e.Operator).Get(e.Ctx, name, metav1.GetOptions{})
	check.NoError(e, err)
	config, err := c.ServiceAccountConfig(e.Ctx, e.Operator, d.Spec.Template.Spec.ServiceAccountName)
	check.NoError(e, err)
	kubeconfig, err := c.KubeconfigFor(e.Operator+"-"+name, config)
	check.NoError(e, err)
	container := &d.Spec.Template.Spec.Containers[0]
	env, err := process.Environment(e.Ctx, e.Kube, e.Operator, container, map[string]string{"spec.nodeName": nodeName,
		"status.podIP": "192.0.2.7",            // there is no route to a Pod
		"metadata.uid": string(uuid.NewUUID()), // each process is a Pod of its own
	})
	check.NoError(e, err)
	o := &deployed{Env: e, container: container, log: filepath.Join(e.TempDir(), "operator.log"),
		done: make(chan struct{})}
	out, err := os.Create(o.log)
	check.NoError(e, err)
	var args []string
	for _, arg := range container.Args {
		args = append(args, process.Expand(arg, env))
	}
	o.cmd = exec.Command(programOf(container), args...)
	o.cmd.Stdout, o.cmd.Stderr = out, out
	// In place of the token files of a Pod's ServiceAccount.
	o.cmd.Env = []string{"KUBECONFIG=" + kubeconfig}
	for name, value := range env {
		o.cmd.Env = append(o.cmd.Env, name+"="+value)
	}
	check.NoError(e, o.cmd.Start())
	go func() {
		defer close(o.done)
		// Its log and its state have the reason of its end.
		_ = o.cmd.Wait()
		_ = out.Close()
	}()
	e.Cleanup(func() {
		o.stop()
		if e.Failed() {
			e.Logf("log of the operator:\n%s", o.output())
		}
	})
	o.metrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", port(container, "metrics"))
	o.waitFor(container)
	return o
}

// programOf returns the program of this tree that a container runs; without a command it is the operator's.
func programOf(container *corev1.Container) string {
	if len(container.Command) == 0 {
		return binary
	}
	return filepath.Join(filepath.Dir(binary), filepath.Base(container.Command[0]))
}

// waitFor waits until both probes of a container succeed.
func (o *deployed) waitFor(container *corev1.Container) {
	o.Helper()
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		url := fmt.Sprintf("http://127.0.0.1:%d%s", port(container, probe.HTTPGet.Port.StrVal), probe.HTTPGet.Path)
		o.Eventually(url+" is well", func() error {
			select {
			case <-o.done:
				o.Fatalf("the operator ended: %s\n%s", o.cmd.ProcessState, o.output())
			default:
			}
			return get(url)
		})
	}
}

// url returns the base URL of a named port of what a Deployment runs.
func (o *deployed) url(name string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/", port(o.container, name))
}

// freePort returns a port that is free here.
func freePort(t testing.TB) int {
	t.Helper()
	number, err := process.FreePort()
	check.NoError(t, err)
	return number
}

func get(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := process.Get(ctx, url)
	return err
}

func port(container *corev1.Container, name string) int32 {
	for _, p := range container.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

// stop ends the operator as a kubelet does, and waits for it.
func (o *deployed) stop() {
	o.Helper()
	select {
	case <-o.done:
		return
	default:
	}
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		o.Errorf("stop the operator: %v", err)
	}
	select {
	case <-o.done:
	case <-time.After(time.Minute):
		o.Errorf("the operator did not stop within a minute: %v", o.cmd.Process.Kill())
		<-o.done
	}
	if code := o.cmd.ProcessState.ExitCode(); code != 0 {
		o.Errorf("the operator ended with code %d", code)
	}
}

func (o *deployed) output() string {
	text, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-6000):])
}
