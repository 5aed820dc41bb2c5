//go:build linux

package node

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

// configHash is the controller's label of records with the hash of the HelmChart.
const configHash = "helmcharts.helm.cattle.io/configHash"

var helmCharts = schema.GroupVersionResource{Group: "helm.cattle.io", Version: "v1", Resource: "helmcharts"}

// shopChart is a chart of a running workload. Some values have one object more, or a hook without an end.
const shopChart = `
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data: {key: "{{ .Values.key }}"}
{{- if .Values.more }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more}
data: {key: "{{ .Values.key }}"}
{{- end }}
{{- if .Values.hook }}
---
apiVersion: v1
kind: Pod
metadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade}}
spec:
  SPEC
  containers: [{name: hook, image: IMAGE, CONFINED}]
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {key: "{{ .Values.key }}"}}
    spec:
      SPEC
      containers: [{name: web, image: IMAGE, CONFINED}]
`

// The helm-controller of k3s installs, upgrades and uninstalls a locked release by HelmCharts: its Jobs run Helm in
// Pods, each as a ServiceAccount of its own. No setting is needed: their records are trusted, and none of their
// writes is reverted or denied. Changes by hand are.
func TestNode_K3sHelmController(t *testing.T) {
	for _, c := range []struct {
		helm, image, namespace string // of the HelmChart; the release's own without one
		settings               map[string]any
	}{
		{"helm 3", lib.HelmJob3, metav1.NamespaceSystem, nil},
		{"helm 4", lib.HelmJob4, "", map[string]any{"serverSide": "true", "forceConflicts": true}},
	} {
		t.Run(c.helm, func(t *testing.T) {
			f := newFixture(t)
			check.NoError(t, shared.StartHelmController(f.Ctx))
			f.install(shared.Cluster.Helm4(), "guard: {enabled: true}")
			k := k3s{f, c.namespace}
			if k.namespace == "" {
				k.namespace = f.Apps
			}
			k.create(c.image, c.settings)
			k.lock()
			f.Reverts("shop", "one")
			history := f.Record(kit.ConfigMaps)
			k.upgrade(2, "key: two\nmore: true\n")
			k.upgrade(3, "key: three\n")
			history.CatchUp()
			k.expectOnlyHelms(history)
			f.Reverts("shop", "three")

			f.PatchHelmRelease("shop", `{"spec":{"guard":"Deny"}}`)
			f.WaitReason("shop", v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
			f.denies()
			k.upgrade(4, "key: four\nmore: true\n")
			f.denies()
			k.interrupt("key: five\nmore: true\nhook: true\n")
			f.WaitField(kit.ConfigMaps, "shop", "data.key", "five")
			f.denies()
			k.delete()
		})
	}
}

// k3s is the helm-controller's HelmChart shop, in a namespace.
type k3s struct {
	*fixture
	namespace string
}

// create creates the HelmChart with more settings, and waits until its release is deployed.
func (k k3s) create(image string, settings map[string]any) {
	k.Helper()
	chart, err := cluster.Chart(k.TempDir(), "shop", "0.1.0", map[string]string{"all.yaml": confined(shopChart)}, "")
	check.NoError(k, err)
	dir := k.TempDir()
	_, err = shared.Cluster.Helm3().Run(k.Ctx, "package", chart, "--destination", dir)
	check.NoError(k, err)
	content, err := os.ReadFile(filepath.Join(dir, "shop-0.1.0.tgz"))
	check.NoError(k, err)
	spec := map[string]any{"chartContent": base64.StdEncoding.EncodeToString(content), "targetNamespace": k.Apps,
		"jobImage": image, "timeout": "2m", "valuesContent": "key: one\n"}
	maps.Copy(spec, settings)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetName("shop")
	object.SetGroupVersionKind(helmCharts.GroupVersion().WithKind("HelmChart"))
	k.within(patience, "HelmCharts are served", func() error {
		_, err := k.In(helmCharts, k.namespace).Create(k.Ctx, object, metav1.CreateOptions{})
		return err
	})
	k.deployed(1)
}

// deployed waits until a Job has deployed a revision.
func (k k3s) deployed(revision int) {
	k.Helper()
	k.within(patience, fmt.Sprintf("revision %d is deployed", revision), func() error {
		record, err := k.Kube.CoreV1().Secrets(k.Apps).Get(k.Ctx, fmt.Sprintf("sh.helm.release.v1.shop.v%d", revision),
			metav1.GetOptions{})
		if err == nil && (record.Labels["status"] != "deployed" || record.Labels[configHash] == "") {
			err = fmt.Errorf("its labels are %v", record.Labels)
		}
		return err
	})
}

// lock locks the release, and expects its revisions from the ServiceAccount of the Jobs.
func (k k3s) lock() {
	k.Helper()
	k.Lock("shop", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.ExpectedWriters = []v1alpha1.GuardSubject{{Kind: "ServiceAccount", Namespace: k.namespace, Name: "helm-shop"}}
	})
}

// upgrade changes the values of the HelmChart, and waits until the next revision is locked, by the right of its writer.
func (k k3s) upgrade(revision int, values string) {
	k.Helper()
	k.PatchIn(helmCharts, k.namespace, "shop", fmt.Sprintf(`{"spec":{"valuesContent":%q}}`, values))
	k.deployed(revision)
	hr := k.WaitReady("shop", revision)
	if trust := hr.Status.Trust; trust == nil || trust.Reason != v1alpha1.TrustWitnessed {
		k.Errorf("the trust in revision %d is %+v", revision, trust)
	}
	k.WaitReason("shop", v1alpha1.ConditionExpectedWriter, v1alpha1.ReasonExpectedWriter)
	k.within(patience, "the workload runs", func() error {
		_, err := k.TryKubectl("rollout", "status", "deployment/web", "--timeout=1s")
		return err
	})
}

// interrupt changes the values, and kills the Job's process while it upgrades. The next process of the Job uninstalls
// the release, and installs it again.
func (k k3s) interrupt(values string) {
	k.Helper()
	k.PatchIn(helmCharts, k.namespace, "shop", fmt.Sprintf(`{"spec":{"valuesContent":%q}}`, values))
	k.within(patience, "the hook runs", func() error {
		_, err := k.Kube.CoreV1().Pods(k.Apps).Get(k.Ctx, "hook", metav1.GetOptions{})
		return err
	})
	k.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
	pods, err := k.Kube.CoreV1().Pods(k.namespace).List(k.Ctx, metav1.ListOptions{
		LabelSelector: "helmcharts.helm.cattle.io/chart=shop", FieldSelector: "status.phase=Running"})
	check.NoError(k, err)
	if len(pods.Items) != 1 {
		k.Fatalf("%d Pods of the Job run", len(pods.Items))
	}
	check.NoError(k, shared.Kill(k.Ctx, pods.Items[0].Status.ContainerStatuses[0].ContainerID))
	k.deployed(1)
	k.WaitReady("shop", 1)
}

// expectOnlyHelms expects each object to have had no states but those by Helm.
func (k k3s) expectOnlyHelms(history *kit.History) {
	k.Helper()
	for name, want := range map[string][]any{"shop": {"one", "two", "three"}, "more": {"two", nil}} {
		var keys []any
		for _, u := range history.States(kit.ConfigMaps, name) {
			var key any
			if u != nil {
				key = kit.Field(u, "data.key")
			}
			keys = append(keys, key)
		}
		if keys = slices.Compact(keys); !slices.Equal(keys, want) {
			k.Errorf("ConfigMap %s had the keys %v, want %v", name, keys, want)
		}
	}
	for _, drift := range k.HelmRelease("shop").Status.RecentDrift {
		if drift.Object.Name != "shop" {
			k.Errorf("drift was found: %+v", drift)
		}
	}
}

// delete deletes the HelmChart. Its Job uninstalls the release, and nothing of it comes back.
func (k k3s) delete() {
	k.Helper()
	check.NoError(k, k.In(helmCharts, k.namespace).Delete(k.Ctx, "shop", metav1.DeleteOptions{}))
	k.within(patience, "the HelmChart is deleted", func() error {
		_, err := k.In(helmCharts, k.namespace).Get(k.Ctx, "shop", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	k.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	for _, name := range []string{"shop", "more"} {
		if k.Get(kit.ConfigMaps, name) != nil {
			k.Errorf("ConfigMap %s is there", name)
		}
	}
	if k.Get(kit.Deployments, "web") != nil {
		k.Error("the workload is there")
	}
}
