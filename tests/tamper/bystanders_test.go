package tamper

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// bystanders creates two undeclared objects beside every release: one of no release, and one with the release's
// annotations. It returns their versions, by chart and name.
func (w *fixture) bystanders(t *testing.T) map[*chart]map[string]string {
	t.Helper()
	for _, ch := range w.charts {
		for _, object := range []metav1.ObjectMeta{
			{Name: "bystander"},
			{Name: "bystander-helm", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
				Annotations: map[string]string{
					"meta.helm.sh/release-name": ch.release, "meta.helm.sh/release-namespace": ch.release,
				}},
		} {
			_, err := w.env.Kube.CoreV1().ConfigMaps(ch.release).Create(t.Context(),
				&corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{FieldManager: kit.Tamperer})
			check.NoError(t, err)
		}
	}
	return w.versionsOfBystanders(t)
}

func (w *fixture) versionsOfBystanders(t *testing.T) map[*chart]map[string]string {
	t.Helper()
	found := map[*chart]map[string]string{}
	for _, ch := range w.charts {
		found[ch] = map[string]string{}
		for _, name := range []string{"bystander", "bystander-helm"} {
			c, err := w.env.Kube.CoreV1().ConfigMaps(ch.release).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Error(err)
				continue
			}
			found[ch][name] = string(c.UID) + " " + c.ResourceVersion
		}
	}
	return found
}

// wantBystanders fails the test when an undeclared object was written to.
func (w *fixture) wantBystanders(t *testing.T, before map[*chart]map[string]string) {
	t.Helper()
	for ch, versions := range w.versionsOfBystanders(t) {
		for name, version := range versions {
			check.That(t, version == before[ch][name], "%s beside %s was written: it was %s and is %s", name, ch,
				before[ch][name], version)
		}
	}
}
