package real

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var issued = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}

// issuing has an authority and three Certificates, which cert-manager renews ten seconds after it has issued them. It
// has no part of the Secret of the first, a label of that of the second, and the type and empty data of the third.
const issuing = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: root}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority}
spec: {ca: {secretName: authority}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority}
spec:
  isCA: true
  commonName: authority
  secretName: authority
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: root}
{{- range list "bare" "labelled" "filled" }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: {{ . }}}
spec:
  secretName: {{ . }}
  dnsNames: ["v{{ $.Values.version }}.example.com"]
  duration: 1h
  renewBefore: 59m50s
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  secretTemplate: {labels: {app: web}, annotations: {example.com/copy-to: others}}
  issuerRef: {name: authority}
{{- end }}
---
apiVersion: v1
kind: Secret
metadata: {name: labelled, labels: {app: web, team: edge}, annotations: {example.com/version: "{{ .Values.version }}"}}
---
apiVersion: v1
kind: Secret
metadata: {name: filled, labels: {team: edge}}
type: kubernetes.io/tls
data: {tls.crt: "", tls.key: ""}
`

var issuer = neighbour{"cert-manager", "certmanager", cluster.CertManagerModule,
	"an authority, and three certificates renewed every ten seconds, reissued by `helm upgrade` and by a user's change",
	"additions in scope `Declared`; `{managers: [cert-manager-certificates-*], target: {kind: Secret}}` for Secrets " +
		"of which the release declares the same fields"}

// The real cert-manager issues and renews the certificates of a locked release, and nothing of it is reverted. A user's
// change of a Certificate is.
func TestNeighbour_RealCertManager(t *testing.T) {
	binaries := issuer.built(t)
	own := kit.Start(t)
	_, source, err := cluster.Module(own.Ctx, "certmanager", cluster.CertManagerModule)
	check.NoError(t, err)
	// No node runs its webhooks: the mutating one selects no namespace, the other leaves out those with a label.
	const name = "cert-manager"
	installChart(own, name, name, filepath.Join(source, "deploy", "charts", name), "--set", "crds.enabled=true",
		"--set", "startupapicheck.enabled=false", "--set", "global.leaderElection.namespace="+name,
		"--set", "webhook.mutatingWebhookConfiguration.namespaceSelector.matchLabels.webhook=runs")
	config, err := kit.Shared.ServiceAccountConfig(own.Ctx, name, name)
	check.NoError(t, err)
	start(own, config, name, binaries.CertManager)
	own.Proxy.Reset()
	t.Run("releases", func(t *testing.T) { kit.EachHelm(t, isIssued) })
	issuer.expectNoReverts(own)
	issuer.done(own)
}

func isIssued(t *testing.T, h cluster.Helm) {
	f := kit.Start(t)
	f.PatchIn(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", f.Apps,
		`{"metadata":{"labels":{"cert-manager.io/disable-validation":"true"}}}`)
	chart := f.Chart("app", issuing)
	f.Helm(h, "install", "app", chart, "--set", "version=1")
	// It applies labels, type and data, and would share declared ones: with Helm 4 that is drift.
	f.Lock("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Managers: []string{"cert-manager-certificates-*"},
			Target: &v1alpha1.IgnoreTarget{Kind: "Secret"}}}
	})
	f.Proxy.Reset()
	first := renewed(f, "v1.example.com", nil)
	second := renewed(f, "v1.example.com", first)
	upgrade := []string{"upgrade", "app", chart, "--set", "version=2"}
	if h.Name == "helm 4" { // it applies the empty data, which cert-manager has taken, locked or not
		upgrade = append(upgrade, "--force-conflicts")
	}
	f.Helm(h, upgrade...)
	f.WaitReady("app", 2)
	third := renewed(f, "v2.example.com", second)
	issuer.expectNoReverts(f)

	before := f.Get(issued, "bare").GetGeneration()
	f.Patch(issued, "bare", `{"spec":{"dnsNames":["tampered.example.com"],"renewBefore":"10m"}}`)
	f.WaitField(issued, "bare", "spec.renewBefore", "59m50s")
	f.Patch(kit.Secrets, "labelled", `{"metadata":{"labels":{"team":"tampered"}}}`)
	f.WaitField(kit.Secrets, "labelled", "metadata.labels.team", "edge")
	renewed(f, "v2.example.com", renewed(f, "v2.example.com", third))
	writes := slices.DeleteFunc(kit.ObjectWrites(f.Proxy), func(r cluster.Request) bool {
		return r.Code == http.StatusConflict // cert-manager has written the status meanwhile
	})
	check.Equal(t, len(writes), 2, "two changes took the writes %v", writes)
	check.Equal(t, f.Get(issued, "bare").GetGeneration(), before+2, "the generation of the Certificate was %d and", before)
}

// renewed waits until each Secret has a certificate for a name that differs from an earlier one, and until its
// Certificate is Ready with it. It returns these certificates.
func renewed(f *kit.Fixture, name string, earlier map[string][]byte) map[string][]byte {
	f.Helper()
	all := map[string][]byte{}
	for _, of := range []string{"bare", "labelled", "filled"} {
		f.Until(fmt.Sprintf("the certificate %s is renewed for %s", of, name), func() (any, bool) {
			text, _ := kit.Field(f.Get(kit.Secrets, of), "data").(map[string]any)
			raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(text["tls.crt"]))
			block, _ := pem.Decode(raw)
			if err != nil || block == nil || bytes.Equal(raw, earlier[of]) {
				return text["tls.crt"], false
			}
			parsed, err := x509.ParseCertificate(block.Bytes)
			check.NoError(f, err)
			all[of] = raw
			return parsed.DNSNames, slices.Equal(parsed.DNSNames, []string{name}) && isReady(f.Get(issued, of))
		})
	}
	return all
}

// isReady reports whether the condition Ready of an object is true for its generation.
func isReady(u *unstructured.Unstructured) bool {
	conditions, _ := kit.Field(u, "status.conditions").([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Ready" {
			return condition["status"] == string(metav1.ConditionTrue) && condition["observedGeneration"] == u.GetGeneration()
		}
	}
	return false
}

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
