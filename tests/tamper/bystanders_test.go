package tamper

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// bystanders creates two undeclared objects beside every release: one of no release, and one with the release's
// annotations. It returns them.
func (w *fixture) bystanders(t *testing.T) (made []*corev1.ConfigMap) {
	t.Helper()
	for _, ch := range w.charts {
		for _, object := range []metav1.ObjectMeta{
			{Name: "bystander"},
			{Name: "bystander-helm", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
				Annotations: map[string]string{
					"meta.helm.sh/release-name": ch.release, "meta.helm.sh/release-namespace": ch.release,
				}},
		} {
			c, err := w.env.Kube.CoreV1().ConfigMaps(ch.release).Create(t.Context(),
				&corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{FieldManager: kit.Tamperer})
			check.NoError(t, err)
			made = append(made, c)
		}
	}
	return made
}

// wantBystanders fails the test when an undeclared object was written to.
func (w *fixture) wantBystanders(t *testing.T, made []*corev1.ConfigMap) {
	t.Helper()
	for _, before := range made {
		now, err := w.env.Kube.CoreV1().ConfigMaps(before.Namespace).Get(t.Context(), before.Name, metav1.GetOptions{})
		check.NoError(t, err)
		check.That(t, now.UID == before.UID && now.ResourceVersion == before.ResourceVersion,
			"%s/%s was written: it was %v and is %v", before.Namespace, before.Name, before, now)
	}
}
