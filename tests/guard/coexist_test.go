package guard

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The replica count within the range of an autoscaler belongs to the autoscaler, and a count beyond it does not.
func TestI13_AutoscalersScale(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	chart := f.guarded(kit.Shared.Helm3(), "shop", shop+`
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: {{ .Values.least | default 2 }}
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`)
	f.inForce(kit.Deployments, "web")
	f.passes("scale", "deployment", "web", "--replicas=4")
	f.refused(kit.Deployments, "web", "spec.replicas 4 -> 9 was refused", "scale", "deployment", "web", "--replicas=9")
	// The autoscaler itself, which is below its range from now on.
	f.Helm(kit.Shared.Helm3(), "upgrade", "shop", chart, "--set", "least=5")
	f.WaitField(kit.Deployments, "web", "spec.replicas", int64(5))
}

// Other managers continue to apply their own fields to a guarded object, and take none of Helm's.
func TestI13_OthersApplyTheirFields(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	file := filepath.Join(f.TempDir(), "settings.yaml")
	apply := []string{"apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", file}
	for _, data := range []string{"{mine: one}", "{mine: two}", "{}", "{mine: three}"} {
		check.NoError(t, os.WriteFile(file, []byte(
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: "+data+"}"), 0o600))
		f.passes(apply...)
	}
	check.NoError(t, os.WriteFile(file, []byte(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mine: four, key: mine}}"), 0o600))
	f.refused(kit.ConfigMaps, "settings", "data[key] was refused", apply...)
	got := kit.Field(f.Get(kit.ConfigMaps, "settings"), "data.mine")
	check.That(t, got == "three", "what others applied is %v", got)
}

// A CA bundle injected where the manifest declares none passes, as cert-manager injects it, and the rest of the
// object is guarded.
func TestI13_AuthoritiesAreInjected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	group := f.Apps + ".example.com"
	f.guarded(kit.Shared.Helm3(), "shop", strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: default, name: converts}}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, "GROUP", group))
	things := f.In(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}, "")
	patch := func(clientConfig string) error {
		_, err := things.Patch(f.Ctx, "things."+group, types.MergePatchType, []byte(
			`{"spec":{"conversion":{"webhook":{"clientConfig":`+clientConfig+`}}}}`), metav1.PatchOptions{})
		return err
	}
	f.Until("the API server asks the guard", func() (any, bool) {
		err := patch(`{"service":{"name":"mine"}}`)
		return err, err != nil &&
			strings.Contains(err.Error(), "spec.conversion.webhook.clientConfig.service.name was refused")
	})
	bundle := base64.StdEncoding.EncodeToString(f.Cluster.RESTConfig().CAData)
	check.NoError(t, patch(fmt.Sprintf(`{"caBundle":%q}`, bundle)))
	if err := patch(`{"service":{"name":"mine"}}`); err == nil {
		t.Error("a declared field was changed")
	}
	u, err := things.Get(f.Ctx, "things."+group, metav1.GetOptions{})
	check.NoError(t, err)
	got := kit.Field(u, "spec.conversion.webhook.clientConfig.caBundle")
	check.That(t, got == bundle, "the authority is %v", got)
}

// A Scale to zero leaves its replicas out. Where zero is declared, it is a repair.
func TestI13_ScaleToZero(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", strings.Replace(shop, "{{ .Values.replicas | default 2 }}", "0", 1))
	f.inForce(kit.Deployments, "web")
	f.refused(kit.Deployments, "web", "spec.replicas 0 -> 3 was refused", "scale", "deployment", "web", "--replicas=3")
	f.PatchHelmRelease("shop", `{"spec":{"mode":"Detect","guard":"Off"}}`)
	f.Until("the change passes", func() (any, bool) {
		_, said := f.kubectl("scale", "deployment", "web", "--replicas=3")
		return said, said == ""
	})
	f.PatchHelmRelease("shop", `{"spec":{"guard":"Warn"}}`)
	replicas := 3 // another number each time: the guard has nothing to say about what does not change
	f.Until("there is a warning", func() (any, bool) {
		replicas++
		_, said := f.kubectl("scale", "deployment", "web", fmt.Sprintf("--replicas=%d", replicas))
		return said, strings.Contains(said, fmt.Sprintf("spec.replicas %d -> %d is drift", replicas-1, replicas))
	})
	f.passes("scale", "deployment", "web", "--replicas=0")
}

// Helm 4 writes the definitions of a chart's crds directory before it stores a record. A definition declared by a
// locked release is determined by that release. The refusal names a remedy, and the remedy works. This is the case
// 43-crds-of-another of ../shared/cases; TestCases in tests/fidelity has the others.
func TestI13_DefinitionOfAnotherChart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const name = "widgets.tamper.example.com"
	declaring, other := filepath.Join("testdata", "43-crds-of-another", "crdA"),
		filepath.Join("testdata", "43-crds-of-another", "crdB")
	check.NoError(t, f.Cluster.Except("I13", name, "Helm writes crds before it stores a record"))
	f.Helm(kit.Shared.Helm4(), "install", "shop", declaring)
	f.guard("shop")
	definitions := f.In(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}, "")

	f.Until("the API server asks the guard", func() (any, bool) {
		_, err := kit.Shared.Helm4().Run(f.Ctx, "install", "other", other, "--namespace", f.Apps)
		return err, err != nil && strings.Contains(err.Error(), "upgrade shop to a revision that declares what that "+
			"chart needs, and install the chart with --skip-crds")
	})
	u, err := definitions.Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(t, err)
	versions := kit.Field(u, "spec.versions").([]any)
	check.That(t, len(versions) == 1, "the definition has %d versions", len(versions))
	f.Helm(kit.Shared.Helm4(), "upgrade", "shop", declaring, "--set", "newer=true")
	f.WaitReady("shop", 2)
	f.Helm(kit.Shared.Helm4(), "install", "other", other, "--skip-crds")
}
