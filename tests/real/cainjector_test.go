package real

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var validators = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
	Resource: "validatingwebhookconfigurations"}

const injected = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: "{{ .Release.Namespace }}"
  annotations: {cert-manager.io/inject-ca-from-secret: "{{ .Release.Namespace }}/authority", note: "{{ .Values.note }}"}
webhooks:
- name: one.example.com
  clientConfig: {service: {name: web, namespace: "{{ .Release.Namespace }}"}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
`

var injector = neighbour{"cainjector of cert-manager", "cainjector", cluster.CertManagerModule,
	"an authority rotated four times, in both scopes, with `helm upgrade` in between", "`CABundleInjected`"}

// The real cainjector of cert-manager writes each new authority into a locked webhook configuration, in both scopes,
// and nothing of it is reverted.
func TestNeighbour_RealCAInjector(t *testing.T) {
	binaries := injector.built(t)
	own := kit.Start(t)
	config, err := kit.Shared.UserConfig("cert-manager-cainjector", "system:masters")
	check.NoError(t, err)
	start(own, config, own.Apps, binaries.CAInjector)
	t.Run("releases", func(t *testing.T) { kit.EachHelm(t, isInjected) })
	injector.done(own)
}

func isInjected(t *testing.T, h cluster.Helm) {
	f := kit.Start(t)
	chart := f.Chart("app", injected)
	f.Helm(h, "install", "app", chart, "--set", "note=0")
	f.Lock("app")
	f.Proxy.Reset()
	for i, scope := range []string{"Declared", "Strict", "Declared", "Strict"} {
		f.PatchHelmRelease("app", fmt.Sprintf(`{"spec":{"scope":%q}}`, scope))
		other, err := kit.Shared.UserConfig(fmt.Sprint("authority-", i)) // its certificate stands for a new authority
		check.NoError(t, err)
		rotate(f, other.CertData)
		last := strings.TrimSpace(string(other.CertData))
		holds := func() (any, bool) {
			u, err := f.Dynamic.Resource(validators).Get(f.Ctx, f.Apps, metav1.GetOptions{})
			check.NoError(t, err)
			webhooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
			check.NoError(t, err)
			client, _ := webhooks[0].(map[string]any)["clientConfig"].(map[string]any)
			bundle, err := base64.StdEncoding.DecodeString(fmt.Sprint(client["caBundle"]))
			return string(bundle), err == nil && strings.Contains(string(bundle), last)
		}
		f.Until("the new authority is injected", holds)
		f.Helm(h, "upgrade", "app", chart, "--set", fmt.Sprint("note=", i+1))
		f.WaitReady("app", i+2)
		f.Until("the authority is still there", holds)
	}
	injector.expectNoReverts(f)
}

// rotate stores an authority where the injector looks for it.
func rotate(f *kit.Fixture, certificate []byte) {
	f.Helper()
	client := f.Kube.CoreV1().Secrets(f.Apps)
	authority := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "authority",
		Annotations: map[string]string{"cert-manager.io/allow-direct-injection": "true"}},
		Data: map[string][]byte{"ca.crt": certificate}}
	_, err := client.Create(f.Ctx, authority, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(f.Ctx, authority, metav1.UpdateOptions{})
	}
	check.NoError(f, err)
}
