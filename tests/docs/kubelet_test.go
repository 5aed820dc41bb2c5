package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// kubelet stands in for the nodes that the control plane lacks. It reports all Pods as running and ready. For a
// container of the helm-locker image it runs the program: with the arguments and the environment of the container, as
// the ServiceAccount of the Pod, and the Pod is ready when the program is. So an installation by the chart on a page
// uses the chart's own permissions and flags.
type kubelet struct {
	cluster *cluster.Cluster
	client  kubernetes.Interface
	binary  string
	dir     string
	failed  func(error)

	mu       sync.Mutex
	programs map[types.UID]*program
	gone     map[types.UID]bool // Pods that were deleted: one can be before its program was started
	closed   bool               // nothing is started any more
	wg       sync.WaitGroup
}

// newKubelet returns a kubelet that runs binary, keeps logs in dir, and reports unexpected events to failed.
func newKubelet(binary, dir string, failed func(error)) *kubelet {
	return &kubelet{binary: binary, dir: dir, failed: failed, programs: map[types.UID]*program{},
		gone: map[types.UID]bool{}}
}

// run works until ctx ends, and returns when all programs have ended.
func (k *kubelet) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(k.client, 0)
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if pod, ok := obj.(*corev1.Pod); ok && pod.DeletionTimestamp == nil {
				k.wg.Go(func() {
					if err := k.admit(ctx, pod); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
						k.failed(fmt.Errorf("Pod %s/%s: %w", pod.Namespace, pod.Name, err))
					}
				})
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				k.stop(pod.UID)
			}
		},
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	k.stopAll()
	k.wg.Wait()
	return nil
}

// admit runs a Pod and reports it as ready.
func (k *kubelet) admit(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; strings.Contains(c.Image, "helm-locker") {
			if err := k.start(ctx, pod, c); err != nil {
				return err
			}
		}
	}
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, PodIP: addressOf(pod)}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady,
		corev1.PodReady} {
		status.Conditions = append(status.Conditions,
			corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	started := true
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, Started: &started,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}

// addressOf returns the address of a Pod: one of this machine, and of no other Pod.
func addressOf(pod *corev1.Pod) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(pod.UID)) // it never fails
	n := sum.Sum32()
	return fmt.Sprintf("127.%d.%d.%d", 64+n>>24%64, byte(n>>16), 1+byte(n>>8)%254)
}

// start runs the program of a container and waits until it is ready.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod, c *corev1.Container) error {
	config, err := k.cluster.ServiceAccountConfig(ctx, pod.Namespace, pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	kubeconfig, err := k.cluster.KubeconfigFor("pod-"+string(pod.UID), config)
	if err != nil {
		return err
	}
	values, err := process.Environment(ctx, k.client, pod.Namespace, c, map[string]string{
		"metadata.namespace": pod.Namespace, "metadata.name": pod.Name, "metadata.uid": string(pod.UID),
		"spec.nodeName": "node-1", "spec.serviceAccountName": pod.Spec.ServiceAccountName, "status.podIP": "127.0.0.1"})
	if err != nil {
		return err
	}
	health, err := process.FreeAddress()
	if err != nil {
		return err
	}
	guard, err := process.FreeAddress()
	if err != nil {
		return err
	}
	var args []string
	for _, arg := range append(append([]string{}, c.Command...), c.Args...) {
		name, value, _ := strings.Cut(arg, "=")
		switch { // addresses of this machine, on which more than one of them may run
		case name == "--health-address":
			arg = name + "=" + health
		case name == "--guard-address":
			arg = name + "=" + guard
		case name == "--guard-service": // the API server has no route to a Service
			arg = "--guard-url=https://" + guard
		case name == "--guard-leader-service":
			continue
		case name == "--page-address" && strings.HasPrefix(value, ":"): // behind a Service
			arg = name + "=" + addressOf(pod) + value
		case strings.HasSuffix(name, "-address"):
			arg = name + "=127.0.0.1:0"
		}
		args = append(args, process.Expand(arg, values))
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig}
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	log := filepath.Join(k.dir, string(pod.UID)+".log")
	if err := k.launch(pod.UID, args, env, log); err != nil {
		return err
	}
	return k.ready(ctx, pod.UID, health)
}
