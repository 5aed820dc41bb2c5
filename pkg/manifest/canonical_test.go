package manifest_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestCanonicalWritesLeavesAsTheServerDoes(t *testing.T) {
	for name, test := range map[string]struct{ apiVersion, kind, declared, want string }{
		"cpu and memory": {"v1", "Pod",
			"spec: {containers: [{name: a, resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5, memory: 1.5Gi}}}]}",
			"spec: {containers: [{name: a, resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m, memory: 1536Mi}}}]}"},
		"cpu as a number": {"v1", "Pod",
			"spec: {containers: [{resources: {limits: {cpu: 2}}}]}",
			"spec: {containers: [{resources: {limits: {cpu: '2'}}}]}"},
		"a port by number or name": {"v1", "Service",
			"spec: {ports: [{port: 80, targetPort: 8080}, {port: 81, targetPort: http}]}",
			"spec: {ports: [{port: 80, targetPort: 8080}, {port: 81, targetPort: http}]}"},
		"base64 in lines": {"v1", "Secret", "data: {k: \"YWJj\\nZGVm\\n\"}", "data: {k: YWJjZGVm}"},
		"times": {"v1", "Pod",
			"spec: {containers: []}\nmetadata: {name: a, annotations: {t: '2026-01-01T01:00:00+01:00'}}",
			"spec: {containers: []}\nmetadata: {name: a, annotations: {t: '2026-01-01T01:00:00+01:00'}}"},
		"leaves that the type leaves out stay": {"v1", "Pod",
			"spec: {hostNetwork: false, nodeSelector: {}, containers: [{name: a, env: [{name: x, value: ''}]}]}",
			"spec: {hostNetwork: false, nodeSelector: {}, containers: [{name: a, env: [{name: x, value: ''}]}]}"},
		"leaves that the type does not know stay": {"v1", "Pod",
			"spec: {colour: red, containers: [{name: a, colours: [{x: 1}], resources: {limits: {cpu: 1000m}}}]}",
			"spec: {colour: red, containers: [{name: a, colours: [{x: 1}], resources: {limits: {cpu: '1'}}}]}"},
		"a field in the wrong case is not known": {"v1", "Pod", "spec: {NodeName: x}", "spec: {NodeName: x}"},
		"a quoted boolean changes nothing at all": {"v1", "Pod",
			"spec: {hostNetwork: 'true', containers: [{resources: {limits: {cpu: 1000m}}}]}",
			"spec: {hostNetwork: 'true', containers: [{resources: {limits: {cpu: 1000m}}}]}"},
		"a port number as text changes nothing at all": {"v1", "Service",
			"spec: {ports: [{port: '80'}]}", "spec: {ports: [{port: '80'}]}"},
		"a number beyond its type changes nothing at all": {"v1", "Service",
			"spec: {ports: [{port: 4294967376}]}", "spec: {ports: [{port: 4294967376}]}"},
		"nor does what is beside such a number": {"v1", "Pod",
			"spec: {containers: [{resources: {limits: {cpu: 1000m}}, ports: [{containerPort: 4294967376}]}]}",
			"spec: {containers: [{resources: {limits: {cpu: 1000m}}, ports: [{containerPort: 4294967376}]}]}"},
		"a quantity that is none changes nothing at all": {"v1", "Pod",
			"spec: {containers: [{resources: {limits: {cpu: lots, memory: 1024Mi}}}]}",
			"spec: {containers: [{resources: {limits: {cpu: lots, memory: 1024Mi}}}]}"},
		"base64 that is none changes nothing at all": {"v1", "Secret", "data: {k: '%'}", "data: {k: '%'}"},
		"null in a list stays": {"v1", "Pod",
			"spec: {containers: [null, {resources: {limits: {cpu: 1000m}}}]}",
			"spec: {containers: [null, {resources: {limits: {cpu: '1'}}}]}"},
		"the target of an HPA": {"autoscaling/v2", "HorizontalPodAutoscaler",
			"spec: {metrics: [{resource: {target: {averageValue: 0.1}}}]}",
			"spec: {metrics: [{resource: {target: {averageValue: 100m}}}]}"},
		"a custom resource with a kind that Kubernetes has": {"example.com/v1", "Pod",
			"spec: {containers: [{resources: {limits: {cpu: 1000m}}}]}",
			"spec: {containers: [{resources: {limits: {cpu: 1000m}}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			head := "apiVersion: " + test.apiVersion + "\nkind: " + test.kind + "\n"
			declared, untouched, want := decode(t, head+test.declared), decode(t, head+test.declared),
				decode(t, head+test.want)
			gvk := schema.FromAPIVersionAndKind(test.apiVersion, test.kind)
			got := manifest.Canonical(declared, gvk)
			check.That(t, reflect.DeepEqual(got, want), "got  %s\nwant %s", text(got), text(want))
			check.That(t, reflect.DeepEqual(declared, untouched), "the argument was changed")
			again := manifest.Canonical(got, gvk)
			check.That(t, reflect.DeepEqual(again, got), "a second time makes a difference: %s", text(again))
		})
	}
}

func decode(t *testing.T, declared string) map[string]any {
	t.Helper()
	content, err := asKubernetes(declared)
	check.NoError(t, err)
	return content
}
