package clitest

import (
	"encoding/json"
	"fmt"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A reader who may not make a dry run sees no drift in the fields that the manifest declares as unset.
func TestDiffByAReaderOfWhatIsDeclaredAsUnset(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", `
apiVersion: v1
kind: Service
metadata: {name: app}
spec: {type: "", clusterIP: "", sessionAffinity: "", selector: {app: app}, ports: [{name: http, port: 80, protocol: "", nodePort: 0}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 0
  selector: {matchLabels: {app: app}}
  strategy: {type: ""}
  template:
    metadata: {labels: {app: app}}
    spec:
      restartPolicy: ""
      dnsPolicy: ""
      schedulerName: ""
      imagePullSecrets: [{name: ""}]
      containers: [{name: app, image: "example.org/app:1", imagePullPolicy: "", terminationMessagePath: "", ports: [{containerPort: 80, protocol: ""}]}]
`))
		reader := w.as("reader", rule("get,list", "", "secrets,configmaps,services"), rule("get", "apps", "deployments"))
		reader.app("diff", "app").is(0, "release APPS/app, revision 1: no drift, 2 objects compared\n", "")
		w.Patch(kit.Services, "app", `{"spec":{"type":"NodePort","sessionAffinity":"ClientIP"}}`)
		reader.app("diff", "app").says(2, "Service APPS/app: spec.sessionAffinity, spec.type\n", "is compared locally")
		w.app("diff", "app").says(2, "Service APPS/app: ")
	})
}

// A difference that no terminal shows has a diff in every form, and every text can be shown.
func TestDiffShowsInvisibleCharacters(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", kit.ConfigMap("app", "a b")))
	for name, separator := range map[string]string{
		`\N`: "\u0085", `\u2028`: "\u2028", `\u2029`: "\u2029", `\x9B`: "\u009b", `\x7F`: "\u007f", `\u202e`: "\u202e",
		`\u2066`: "\u2066", `\u200b`: "\u200b", `\e`: "\u001b",
	} {
		value, err := json.Marshal("a" + separator + "b")
		check.NoError(t, err)
		w.Patch(kit.ConfigMaps, "app", fmt.Sprintf(`{"data":{"key":%s}}`, value))
		for _, output := range []string{"text", "patch"} {
			w.app("diff", "app", "-o", output).says(2, "-  key: a b\n", name)
		}
		w.app("diff", "app", "-o", "yaml").says(2, "key: a b")
		w.app("diff", "app", "-o", "json").says(2, "key: a b")
	}
}

// The lock of a release is unknown to a user who may not list HelmReleases.
func TestReportWithoutHelmReleases(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", kit.ConfigMap("shop", "one")))
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.app("lock", "shop", "--wait").says(0)
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"key":"two"}}`)
	w.app("report").says(2, "| detect |")
	reader := w.as("reader", rule("get,list", "", "secrets,configmaps"), rule("get,list", "apps", "deployments"))
	for format, want := range map[string]string{"markdown": "| unknown |", "json": `"locked": "unknown"`, "html": ">Unknown<"} {
		reader.app("report", "-o", format).says(2, want, "note: you may not list HelmReleases in namespace LOCKER")
	}
}
