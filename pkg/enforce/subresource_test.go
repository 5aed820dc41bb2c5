package enforce

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

func TestSubresourceOfARevert(t *testing.T) {
	const (
		pod       = `{spec: {nodeName: n, containers: [{name: a, image: b, resources: {requests: {cpu: 1}}}]}}`
		inited    = `{spec: {initContainers: [{name: a, resources: {requests: {cpu: 1}}}]}}`
		namespace = `{spec: {finalizers: [kubernetes]}, metadata: {labels: {a: b}}}`
	)
	for name, test := range map[string]struct{ kind, live, from, to, want string }{
		"resources":                      {"Pod", pod, "cpu: 1", "cpu: 2", "resize"},
		"resources that are not there":   {"Pod", pod, ", resources: {requests: {cpu: 1}}", "", "resize"},
		"resources of an init container": {"Pod", inited, "cpu: 1", "memory: 1", "resize"},
		"an image":                       {"Pod", pod, "image: b", "image: c", ""},
		"resources and an image":         {"Pod", pod, "image: b, resources: {requests: {cpu: 1", "image: c, resources: {requests: {cpu: 2", ""},
		"another container":              {"Pod", pod, "name: a", "name: b", ""},
		"nothing":                        {"Pod", pod, "", "", ""},
		"finalizers":                     {"Namespace", namespace, "kubernetes", "other", "finalize"},
		"no finalizers":                  {"Namespace", namespace, "finalizers: [kubernetes]", "", "finalize"},
		"a label":                        {"Namespace", namespace, "a: b", "a: c", ""},
		"resources of another kind":      {"PodTemplate", pod, "cpu: 1", "cpu: 2", ""},
	} {
		live := fixture.Object(t, test.live)
		target := fixture.Object(t, strings.Replace(test.live, test.from, test.to, 1))
		r := &Revert{Object: Object{GVK: schema.GroupVersionKind{Kind: test.kind}}, Target: target,
			Live: &unstructured.Unstructured{Object: live}}
		check.Equal(t, r.subresource(), test.want, "%v", name)
	}
}
