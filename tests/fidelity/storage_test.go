package fidelity

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A foreign version of a definition that is the stored one cannot be removed, as objects may be stored in it. The
// condition names the field, and all others of the definition are restored. The change of that field by a user, as the
// documents show it, lets the revert succeed.
func TestStoredVersion_IsReportedAndLeftByHand(t *testing.T) {
	const sentence = "spec.versions cannot be restored, all else is protected"
	w := newFixture(t)
	definitions := w.In(resource("customresourcedefinitions"), "")
	patch := func(name, text string, subresource ...string) {
		t.Helper()
		_, err := definitions.Patch(w.Ctx, name, types.JSONPatchType, []byte(text), metav1.PatchOptions{},
			subresource...)
		check.NoError(t, err)
	}
	for version, h := range kit.Helms(kit.Shared) {
		release := "s" + version[len(version)-1:]
		group := fmt.Sprintf("%s.%s.example.com", release, w.Apps)
		name := "sprockets." + group
		w.Installed(h, release, fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s, labels: {tier: gold}}
spec:
  group: %s
  scope: Namespaced
  names: {plural: sprockets, singular: sprocket, kind: Sprocket, listKind: SprocketList, shortNames: [sk]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, name, group))
		patch(name, `[{"op":"replace","path":"/spec/versions/0/storage","value":false},
			{"op":"add","path":"/spec/versions/-","value":
				{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}}]`)
		w.Says(release, v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, name, "status.storedVersions", sentence)
		patch(name, `[{"op":"replace","path":"/spec/names/shortNames","value":["evil"]},
			{"op":"replace","path":"/metadata/labels/tier","value":"evil"}]`)
		w.WaitFieldIn(resource("customresourcedefinitions"), "", name, "spec.names.shortNames", []any{"sk"})
		w.WaitFieldIn(resource("customresourcedefinitions"), "", name, "metadata.labels.tier", "gold")
		w.Says(release, v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, name, sentence)
		patch(name, `[{"op":"replace","path":"/spec/versions/0/storage","value":true},
			{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
		patch(name, `[{"op":"replace","path":"/status/storedVersions","value":["v1"]}]`, "status")
		w.WaitReady(release, 1)
		u, err := definitions.Get(w.Ctx, name, metav1.GetOptions{})
		check.NoError(t, err)
		text := fmt.Sprint(u.Object["spec"])
		check.That(t, !strings.Contains(text, "v2"), "the foreign version stays: %s", text)
		w.Helm(h, "uninstall", release)
	}
}
