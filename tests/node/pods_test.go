//go:build linux

package node

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher/helm-locker/tests/lib/check"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

func TestNode_RunsAPod(t *testing.T) {
	f := newFixture(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pause"}, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "pause", Image: lib.Workload, Args: []string{"serve"},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}}}}
	_, err := f.Kube.CoreV1().Pods(f.Apps).Create(f.Ctx, pod, metav1.CreateOptions{})
	check.NoError(t, err)
	f.within(patience, "the Pod runs", func() error {
		p, err := f.Kube.CoreV1().Pods(f.Apps).Get(f.Ctx, "pause", metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return err
	})
}
