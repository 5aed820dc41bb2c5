package fidelity

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	helmrelease "github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestDiffShowsWhatTheAPIServerRefuses compares, without a lock, an object whose addition forbids the declared value,
// and one with a field that cannot be restored. The lock then does the same as diff showed.
func TestDiffShowsWhatTheAPIServerRefuses(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: noescal}
spec:
  replicas: 0
  selector: {matchLabels: {app: noescal}}
  template:
    metadata: {labels: {app: noescal}}
    spec:
      containers:
      - name: c
        image: registry.example/c:1
        securityContext: {allowPrivilegeEscalation: false}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: frozen, labels: {tier: gold}}
data: {mode: safe}
`))
		deployments := resource("deployments")
		w.Strategic(deployments, "noescal", `{"spec":{"template":{"spec":{"containers":
			[{"name":"c","securityContext":{"allowPrivilegeEscalation":true,"privileged":true,"runAsUser":1000}}]}}}}`)
		w.Patch(kit.ConfigMaps, "frozen", `{"metadata":{"labels":{"tier":"evil"}},"immutable":true,"data":{"mode":"evil"}}`)

		compared := w.compare("app")
		const context = "/spec/template/spec/containers/0/securityContext/"
		d := compared["noescal"]
		want := []string{context + "allowPrivilegeEscalation", context + "privileged"}
		got := pathsOf(d)
		check.That(t, slices.Equal(got, want), "diff of the Deployment shows %q", got)
		check.That(t,
			strings.Contains(d.Note, "a revert takes out") && strings.Contains(d.Note, "privileged") && len(d.Refused) == 0,
			"diff says %q, refused is %v", d.Note, d.Refused)
		d = compared["frozen"]
		got = pathsOf(d)
		check.That(t, slices.Equal(got, []string{"/data/mode", "/immutable", "/metadata/labels/tier"}),
			"diff of the ConfigMap shows %q", got)
		check.That(t,
			len(d.Refused) == 2 && d.Refused[0].Path == "/data/mode" && d.Refused[1].Path == "/immutable" &&
				strings.Contains(d.Note, "data[mode], immutable cannot be restored"), "diff says %q, refused is %v", d.Note,
			d.Refused)

		w.CreateHelmRelease("app")
		w.WaitField(kit.ConfigMaps, "frozen", "metadata.labels.tier", "gold")
		w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonRevertFailed, "1 of 2 objects protected, 1 in part", "frozen")
		left := w.compare("app")
		got = pathsOf(left["frozen"])
		check.That(t, len(left) == 1 && slices.Equal(got, []string{"/data/mode", "/immutable"}),
			"after the reverts diff shows %v, and %q of the ConfigMap", left, got)
	})
}

// compare returns the differences of a release that diff finds, by the names of the objects.
func (w *fixture) compare(name string) map[string]inspect.Difference {
	w.Helper()
	cluster := w.Inspect()
	record, err := cluster.Find(w.Ctx, helmrelease.Key{Namespace: w.Apps, Name: name}, 0)
	check.NoError(w, err)
	details, err := cluster.Read(w.Ctx, record)
	check.NoError(w, err)
	compared, err := inspect.Compare(w.Ctx, cluster, details, inspect.CompareOptions{})
	check.NoError(w, err)
	found := map[string]inspect.Difference{}
	for _, d := range compared.Differences {
		found[d.ID.Name] = d
	}
	return found
}

func pathsOf(d inspect.Difference) []string {
	var paths []string
	for _, c := range d.Changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// TestAdviceOnlyWhereAFieldIsImmutable has a refused, invalid value in a mutable field: the object could not be created
// either, and replacing it would not help.
func TestAdviceOnlyWhereAFieldIsImmutable(t *testing.T) {
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("settings", "declared"))
	w.Deny(kit.ConfigMaps, "object.data.key != 'declared'", "settings", `{"data":{"more":"x"}}`)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"evil"}}`)
	c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
	check.That(t, !strings.Contains(c.Message, "replaceImmutable") && !strings.Contains(c.Message, "never replaced"),
		"Ready advises to replace the object: %s", c.Message)
}

// TestImmutableFieldsOfAnyKindAreReplaced sets fields that cannot be changed, in kinds without data.
func TestImmutableFieldsOfAnyKindAreReplaced(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: {{ .Release.Namespace }}}
provisioner: none.example
parameters: {tier: gold}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: {{ .Release.Namespace }}}
value: 7
`))
	for _, object := range []string{
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAME, labels: {app.kubernetes.io/managed-by: Helm}}, " +
			"provisioner: none.example, parameters: {tier: evil}}",
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAME, labels: {app.kubernetes.io/managed-by: Helm}}, " +
			"value: 9}",
	} {
		file := filepath.Join(t.TempDir(), "object.yaml")
		check.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(object, "NAME", w.Apps)), 0o600))
		w.Kubectl("replace", "--force", "-f", file)
	}
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	w.Until("both are as declared", func() (any, bool) {
		tier := w.Kubectl("get", "storageclass", w.Apps, "--ignore-not-found", "-o", "jsonpath={.parameters.tier}")
		value := w.Kubectl("get", "priorityclass", w.Apps, "--ignore-not-found", "-o", "jsonpath={.value}")
		return tier + " " + value, tier == "gold" && value == "7"
	})
	w.WaitReady("app", 1)
}

// TestI5_AKeyThatMovedComesBackByFewRequests moves a key between the two maps of a ConfigMap, which the API server
// refuses to have it in both of. It counts the operator's requests until then, with nothing known of ConfigMaps.
func TestI5_AKeyThatMovedComesBackByFewRequests(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", `
apiVersion: v1
kind: ConfigMap
metadata: {name: maps}
data: {text: declared, size: "10"}
binaryData: {blob: AAEC}
`)
		w.Proxy.Reset()
		w.Patch(kit.ConfigMaps, "maps", `{"data":{"text":null,"blob":"evil","note":"mine"},"binaryData":{"blob":null,"text":"AAAA"}}`)
		for path, value := range map[string]any{"data.text": "declared", "data.blob": nil, "data.note": "mine",
			"binaryData.blob": "AAEC", "binaryData.text": nil} {
			w.WaitField(kit.ConfigMaps, "maps", path, value)
		}
		w.WaitReady("app", 1)
		patches := slices.DeleteFunc(w.Proxy.Writes(), func(r cluster.Request) bool {
			return r.Method != http.MethodPatch || !strings.HasSuffix(r.Path, "/configmaps/maps")
		})
		dry, refused := 0, 0
		for _, r := range patches {
			switch {
			case r.Query.Get("dryRun") != "":
				dry++
			case r.Code >= http.StatusBadRequest:
				refused++
			}
		}
		t.Logf("%d requests: %d refused, %d dry runs", len(patches), refused, dry)
		check.That(t, refused <= 1 && dry <= 8, "%d refused writes, %d dry runs", refused, dry)
	})
}
