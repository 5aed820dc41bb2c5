package fidelity

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// widget is declared in a version that is served and not stored, and tampered with through the stored one. Its
// definition has defaults, prunes, and converts by changing the version's name.
var widget = shape{
	object: "widgets/widget",
	manifest: `
apiVersion: GROUP/v1alpha1
kind: Widget
metadata: {name: widget, annotations: {note: NOTE}}
spec:
  size: 1
  quantity: 1000m
  port: 8080
  named: "8080"
  ratio: 0.50
  timeout: 90s
  when: "2024-01-01T02:00:00+02:00"
  enabled: false
  empty: {}
  nothing: []
  text: ""
  free: {"a/b": {"c~d": {"e.f": 1}}, "": x, list: [{a: 1, b: [1, 2]}, {a: 2}]}
  items: [{name: one, value: a}, {name: two, value: b}]
  keyed: [{name: one, port: 80}, {name: two, port: 81}]
  tags: [a, b, c]
  plain: [k, l, m]
  deep: {one: {two: {three: [{name: x, four: [{name: z, five: deep}]}]}}}
`,
	edits: []edit{
		setting("number", "/spec/size", "2"),
		removing("number, which is then defaulted", "/spec/size"),
		setting("quantity", "/spec/quantity", `"1"`),
		setting("number to text of the same digits", "/spec/port", `"8080"`),
		setting("number to name", "/spec/port", `"http"`),
		setting("text to number of the same digits", "/spec/named", "8080"),
		setting("fraction", "/spec/ratio", "0.51"),
		setting("duration of the same length", "/spec/timeout", `"1m30s"`),
		setting("time of the same moment", "/spec/when", `"2024-01-01T00:00:00Z"`),
		setting("boolean", "/spec/enabled", "true"),
		removing("boolean", "/spec/enabled"),
		removing("empty map", "/spec/empty"),
		{name: "empty map filled with nothing but null", patch: `{"spec":{"empty":null}}`},
		removing("empty list", "/spec/nothing"),
		setting("empty list", "/spec/nothing", `["evil"]`),
		removing("empty text", "/spec/text"),
		setting("odd keys", "/spec/free/a~1b/c~0d/e.f", "2"),
		removing("odd key", "/spec/free/a~1b/c~0d"),
		setting("empty key", "/spec/free/", `"evil"`),
		setting("list without a schema", "/spec/free/list/0/b/1", "3"),
		setting("key of an element", "/spec/items/0/name", `"evil"`),
		removing("element", "/spec/items/0"),
		{name: "order of a list", patch: ops(move("/spec/items/0", "/spec/items/1"))},
		setting("merge key", "/spec/keyed/0/name", `"evil"`),
		setting("field of a keyed element", "/spec/keyed/1/port", "90"),
		removing("keyed element", "/spec/keyed/0"),
		// An edited member of a set is indistinguishable from a removed and an added one: the added one stays, so it
		// is left out here.
		removing("member of a set", "/spec/tags/1"),
		setting("element of an atomic list", "/spec/plain/0", `"evil"`),
		{name: "order of an atomic list", patch: ops(move("/spec/plain/0", "/spec/plain/2"))},
		{name: "further element of an atomic list", patch: ops(add("/spec/plain/-", `"evil"`))},
		setting("deep value", "/spec/deep/one/two/three/0/four/0/five", `"evil"`),
		setting("deep merge key", "/spec/deep/one/two/three/0/name", `"evil"`),
		setting("deeper merge key", "/spec/deep/one/two/three/0/four/0/name", `"evil"`),
		removing("deep tree", "/spec/deep/one/two"),
		removing("everything", "/spec"),
	},
}

// pruned has fields accepted by Helm 3 only, and nulls.
var pruned = shape{
	object: "widgets/pruned", helm: "helm 3",
	manifest: `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: pruned, annotations: {note: NOTE}}
spec: {size: null, unknown: {not: known}, nullable: null, text: null, items: [{name: one, value: a, unknown: x}], free: {a: null, b: [null, 1]}}
`,
	edits: []edit{
		setting("value beside a pruned field", "/spec/items/0/value", `"evil"`),
		setting("list with null", "/spec/free/b/1", "2"),
		setting("null in a list", "/spec/free/b/0", "0"),
	},
}

// gadget is declared in an old version with other fields than the stored one; a webhook converts.
var gadget = shape{
	object: "gadgets/gadget",
	manifest: `
apiVersion: GROUP/v1alpha1
kind: Gadget
metadata: {name: gadget, annotations: {note: NOTE}}
spec: {size: 1, color: red}
`,
	edits: []edit{
		setting("field of another name", "/spec/dimensions/size", "2"),
		setting("field of the same name", "/spec/color", `"evil"`),
		removing("field of another name", "/spec/dimensions"),
		{name: "note", patch: `{"metadata":{"annotations":{"note":"evil"}}}`},
	},
}

const properties = `
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: integer, default: 3}
      mode: {type: string, default: auto}
      quantity: {x-kubernetes-int-or-string: true}
      port: {x-kubernetes-int-or-string: true}
      named: {x-kubernetes-int-or-string: true}
      ratio: {type: number}
      timeout: {type: string, format: duration}
      when: {type: string, format: date-time}
      enabled: {type: boolean, default: true}
      empty: {type: object, properties: {some: {type: string}}}
      nothing: {type: array, items: {type: string}}
      text: {type: string}
      nullable: {type: string, nullable: true}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      items: {type: array, items: {type: object, properties: {name: {type: string}, value: {type: string}, kind: {type: string, default: plain}}}}
      keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
        items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}, protocol: {type: string, default: TCP}}}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      plain: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
      deep: {type: object, properties: {one: {type: object, properties: {two: {type: object, properties: {three: {type: array,
        x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string},
        four: {type: array, items: {type: object, properties: {name: {type: string}, five: {type: string}, six: {type: integer, default: 6}}}}}}}}}}}}}
`

const oldGadget = `{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}}}}}`

const newGadget = `{type: object, properties: {spec: {type: object, properties: {color: {type: string}, dimensions: {type: object, properties: {size: {type: integer}}}}}}}`

func TestI6_CustomResourcesAndVersions(t *testing.T) {
	withstand(t, func(w *fixture) []shape {
		group := w.Apps + ".example.com"
		w.define(group, "Widget", properties, properties, nil)
		server := w.ServeTLS(convert)
		w.define(group, "Gadget", oldGadget, newGadget, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             map[string]any{"url": server.URL, "caBundle": kit.CertificateOf(server)},
		}})
		shapes := []shape{widget, pruned, gadget}
		for i := range shapes {
			shapes[i].group = group
			shapes[i].manifest = strings.ReplaceAll(shapes[i].manifest, "GROUP", group)
		}
		return shapes
	})
}

// define installs a CustomResourceDefinition with the versions v1alpha1 and v1 until the test ends; v1 is stored.
func (w *fixture) define(group, kind, oldSchema, newSchema string, conversion map[string]any) {
	w.Helper()
	plural := strings.ToLower(kind) + "s"
	version := func(name, openAPI string, stored bool) any {
		var s map[string]any
		check.NoError(w, yaml.Unmarshal([]byte(openAPI), &s))
		return map[string]any{"name": name, "served": true, "storage": stored,
			"schema": map[string]any{"openAPIV3Schema": s}}
	}
	spec := map[string]any{
		"group": group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": plural},
		"versions": []any{version("v1alpha1", oldSchema, false), version("v1", newSchema, true)},
	}
	if conversion != nil {
		spec["conversion"] = conversion
	}
	// Through JSON, which gives the numbers and bytes the types of an unstructured object.
	data, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group}, "spec": spec,
	})
	check.NoError(w, err)
	definition := asObject(nil)
	check.NoError(w, definition.UnmarshalJSON(data))
	definitions := w.In(resource("customresourcedefinitions"), "")
	_, err = definitions.Create(w.Ctx, definition, metav1.CreateOptions{})
	check.NoError(w, err)
	w.Cleanup(func() {
		check.Report(w, definitions.Delete(context.WithoutCancel(w.Ctx), definition.GetName(), metav1.DeleteOptions{}))
	})
	for _, v := range []string{"v1alpha1", "v1"} {
		gvr := schema.GroupVersionResource{Group: group, Version: v, Resource: plural}
		w.Eventually(gvr.String()+" is served", func() error {
			_, err := w.In(gvr, w.Apps).List(w.Ctx, metav1.ListOptions{})
			return err
		})
	}
}

// convert answers a ConversionReview for Gadgets.
func convert(body []byte) any {
	var review struct {
		Request struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil
	}
	converted := []any{}
	for _, object := range review.Request.Objects {
		if object["apiVersion"] != review.Request.DesiredAPIVersion {
			if spec, ok := object["spec"].(map[string]any); ok {
				exchange(spec)
			}
			object["apiVersion"] = review.Request.DesiredAPIVersion
		}
		converted = append(converted, object)
	}
	return map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
		"response": map[string]any{
			"uid": review.Request.UID, "convertedObjects": converted, "result": map[string]any{"status": "Success"},
		}}
}

// exchange turns size into dimensions.size and back.
func exchange(spec map[string]any) {
	if size, ok := spec["size"]; ok {
		delete(spec, "size")
		spec["dimensions"] = map[string]any{"size": size}
		return
	}
	dimensions, ok := spec["dimensions"].(map[string]any)
	if !ok {
		return
	}
	delete(spec, "dimensions")
	if size, ok := dimensions["size"]; ok {
		spec["size"] = size
	}
}
