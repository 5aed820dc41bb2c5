package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A user applies an older definition, without the version declared by the newest revision. An earlier revision
// declares the same object at the version that is still served. Nothing is deleted until all kinds are known.
func TestI2_OlderDefinitionMakesNoPruneCandidate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group := w.Apps + ".example.com"
	v1, v2 := w.twoVersions(group)
	widget := func(version string) string {
		return fmt.Sprintf("---\napiVersion: %s/%s\nkind: Widget\nmetadata: {name: web}\nspec: {size: 1}\n", group, version)
	}
	made := w.owned(v1, "Widget", "web", "spec", map[string]any{"size": int64(1)})
	for _, name := range []string{"stays", "old"} {
		w.owned(kit.ConfigMaps, "ConfigMap", name, "data", map[string]any{"key": "declared"})
	}
	w.Forge(kit.ForgedRecord{Name: "app", Status: "superseded",
		Manifest: kit.ConfigMap("stays", "declared") + kit.ConfigMap("old", "declared") + widget("v1")})
	w.NextSecond(w.Get(kit.ConfigMaps, "old"))
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("stays", "declared") + widget("v2")})
	w.serves(v2, false)
	w.CreateHelmRelease("app")
	w.WaitLog(w.Running, "are not pruned")
	check.That(t, w.Get(kit.ConfigMaps, "old") != nil,
		"an object of an earlier revision was deleted although a kind is not known")
	w.serves(v2, true)
	w.WaitGone(kit.ConfigMaps, w.Apps, "old") // no current revision declares it
	w.WaitReady("app", 2)
	u := w.Get(v1, "web")
	check.That(t, u != nil && u.GetUID() == made.GetUID() && u.GetDeletionTimestamp() == nil,
		"an object that the newest revision declares was deleted")
}

// twoVersions defines Widgets of two versions, and returns when both are served.
func (w *fixture) twoVersions(group string) (v1, v2 schema.GroupVersionResource) {
	w.Helper()
	definition := widgetDefinition(group)
	versions := kit.Field(definition, "spec.versions").([]any)
	second := map[string]any{"name": "v2", "served": true, "storage": false,
		"schema": versions[0].(map[string]any)["schema"]}
	definition.Object["spec"].(map[string]any)["versions"] = append(versions, second)
	w.define(definition)
	v1 = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	v2 = schema.GroupVersionResource{Group: group, Version: "v2", Resource: "widgets"}
	w.awaitServed(v1, true)
	w.awaitServed(v2, true)
	return v1, v2
}

// serves enables or disables a version of Widgets, and returns when the API server has applied that.
func (w *fixture) serves(gvr schema.GroupVersionResource, served bool) {
	w.Helper()
	definition, err := w.In(kit.Definitions, "").Get(w.Ctx, gvr.Resource+"."+gvr.Group, metav1.GetOptions{})
	check.NoError(w, err)
	versions := kit.Field(definition, "spec.versions").([]any)
	for _, version := range versions {
		if version := version.(map[string]any); version["name"] == gvr.Version {
			version["served"] = served
		}
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}})
	check.NoError(w, err)
	w.PatchIn(kit.Definitions, "", definition.GetName(), string(patch))
	w.awaitServed(gvr, served)
}

func (w *fixture) awaitServed(gvr schema.GroupVersionResource, served bool) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s are served: %v", gvr, served), func() error {
		_, listed := w.In(gvr, w.Apps).List(w.Ctx, metav1.ListOptions{})
		_, discovered := w.Kube.Discovery().ServerResourcesForGroupVersion(gvr.GroupVersion().String())
		groups, err := w.Kube.Discovery().ServerGroups()
		if err != nil {
			return err
		}
		named := slices.ContainsFunc(metav1.ExtractGroupVersions(groups), func(gv string) bool {
			return gv == gvr.GroupVersion().String()
		})
		if (listed == nil) != served || (discovered == nil) != served || named != served {
			return fmt.Errorf("named among the groups: %v; %w", named, errors.Join(listed, discovered))
		}
		return nil
	})
}
