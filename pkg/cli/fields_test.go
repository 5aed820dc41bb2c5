package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// A misspelt path is one that no object declares and no kind has, and that resembles a field.
func TestUseOf(t *testing.T) {
	deployment := manifest.Object{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Content: fixture.Object(t, `spec: {replicas: 2, template: {spec: {containers: [{name: web, image: web}]}}}`)}
	service := manifest.Object{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"},
		Content: fixture.Object(t, `spec: {clusterIP: None, ports: [{port: 80}]}`)}
	custom := manifest.Object{GVK: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"},
		Content: fixture.Object(t, `spec: {replcas: 1}`)}
	objects := []manifest.Object{deployment, service, custom}
	for pointer, want := range map[string]fieldUse{
		"":                                       {declared: true, possible: true},
		"/spec/replicas":                         {declared: true, possible: true},
		"/spec/replcas":                          {declared: true, near: "/spec/replicas"},
		"/spec/replcias":                         {near: "/spec/replicas"},
		"/spec/template/spec/containers/*/image": {declared: true, possible: true},
		"/spec/template/spec/containers/0/imag":  {near: "/spec/template/spec/containers/0/image"},
		"/spec/template/spec/containers/*/resorces/a~1": {near: "/spec/template/spec/containers/*/resources/a~1"},
		"/spec/clusterIPs":                        {possible: true},
		"/spec/minReadySeconds":                   {possible: true},
		"/metadata/annotations/example.org~1hash": {possible: true},
		"/spec/ports/0/targetPort/deeper":         {possible: true},
		"/spec/replicas/deeper":                   {},
		"/nonsense":                               {},
	} {
		want.unknown = true // one of them is of a custom kind
		got, err := useOf(pointer, nil, objects)
		check.NoError(t, err)
		check.Equal(t, got, want, "%v", pointer)
	}
}
