package manifest

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestNullsStayWhereTheAPIServerMayKeepThem(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, want string }{
		"data":             {"{apiVersion: v1, kind: ConfigMap, data: {a: null, b: c}}", "data: {a: null, b: c}"},
		"all of the data":  {"{apiVersion: v1, kind: ConfigMap, data: null}", ""},
		"data of a Secret": {"{apiVersion: v1, kind: Secret, data: {a: null}}", "data: {a: null}"},
		"a field of a built-in kind": {
			"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: null, paused: true}}", "spec: {paused: true}",
		},
		"a quantity": {"{apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: null}}}", "spec: {hard: {}}"},
		"content without a type": {
			"{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, data: {a: {b: null}, c: [null]}}",
			"{revision: 1, data: {a: {b: null}, c: [null]}}",
		},
		"a field that does not exist": {"{apiVersion: v1, kind: ConfigMap, unknown: null}", ""},
		"custom resources": {"{apiVersion: x.io/v1, kind: X, spec: {a: null, l: [{b: null}]}}",
			"spec: {a: null, l: [{b: null}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Parse(tc.manifest[:1] + "metadata: {name: a, finalizers: null}, " + tc.manifest[1:])
			check.NoError(t, err)
			resolved, _, err := set.Resolve(Release{Name: "r", Namespace: "n"},
				func(schema.GroupVersionKind) (bool, error) { return true, nil })
			check.NoError(t, err)
			content := resolved[0].Content
			metadata := content["metadata"].(map[string]any)
			check.That(t, len(metadata) == 4, "metadata is %v", metadata)
			delete(content, "metadata")
			delete(content, "apiVersion")
			delete(content, "kind")
			want := map[string]any{}
			check.NoError(t, yaml.Unmarshal([]byte(tc.want), &want))
			if _, ok := want["revision"]; ok {
				want["revision"] = int64(1)
			}
			check.That(t, reflect.DeepEqual(content, want), "content is %v", content)
		})
	}
}
