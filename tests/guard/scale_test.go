package guard

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The scale of a custom resource sets the field named by its definition. The guard compares that field, and not the
// one with the same name as in a Scale.
func TestHostile_TheScaleOfACustomResource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	group := f.Apps + ".example.com"
	crd := strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: fleets, singular: fleet, kind: Fleet, listKind: FleetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, replicas: {type: integer}}}
          status: {type: object, properties: {size: {type: integer}}}
`, "GROUP", group)
	f.Helm(kit.Shared.Helm3(), "install", "definitions", f.Chart("definitions", crd))
	fleets := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "fleets"}
	f.Until("the kind is served", func() (any, bool) {
		_, complaint := f.kubectl("get", "fleets."+group)
		return complaint, !strings.Contains(complaint, "error")
	})
	f.guarded(kit.Shared.Helm3(), "shop", shop+"\n---\n"+strings.ReplaceAll(`
apiVersion: GROUP/v1
kind: Fleet
metadata: {name: declared}
spec: {size: 3, replicas: 7}
---
apiVersion: GROUP/v1
kind: Fleet
metadata: {name: open}
spec: {replicas: 7}
`, "GROUP", group))
	f.inForce(kit.ConfigMaps, "settings")
	scale := func(name, n string) []string { return []string{"scale", "fleets." + group, name, "--replicas=" + n} }
	f.refused(fleets, "declared", "spec.size was refused", scale("declared", "5")...)
	f.passes(scale("declared", "3")...)
	f.passes(scale("open", "5")...)
	got := kit.Field(f.Get(fleets, "open"), "spec.size")
	check.That(t, got == int64(5), "the size is %v", got)
}
