package judge

import (
	"reflect"
	"testing"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

func TestCoexistLeavesWhatTheManifestLeaves(t *testing.T) {
	webhook := manifest.ID{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration", Name: "x"}
	for name, test := range map[string]struct {
		id            manifest.ID
		content, want string
		paths         []string
	}{
		"none, blank and declared bundles": {
			id: webhook,
			content: `{webhooks: [{name: a, clientConfig: {url: u}}, {name: b, clientConfig: {caBundle: Cg==}}, {name: c, clientConfig: {caBundle: ""}},
				{name: d, clientConfig: {caBundle: ZGVjbGFyZWQ=}}, {name: e}, text]}`,
			want: `{webhooks: [{name: a, clientConfig: {url: u}}, {name: b, clientConfig: {}}, {name: c, clientConfig: {}},
				{name: d, clientConfig: {caBundle: ZGVjbGFyZWQ=}}, {name: e}, text]}`,
			paths: []string{"/webhooks/0/clientConfig/caBundle", "/webhooks/1/clientConfig/caBundle",
				"/webhooks/2/clientConfig/caBundle"},
		},
		"an APIService with a service": {
			id:      manifest.ID{Group: "apiregistration.k8s.io", Kind: "APIService", Name: "x"},
			content: `{spec: {service: {name: a}, caBundle: ""}}`, want: `{spec: {service: {name: a}}}`,
			paths: []string{"/spec/caBundle"},
		},
		"an APIService that takes no bundle": {
			id:      manifest.ID{Group: "apiregistration.k8s.io", Kind: "APIService", Name: "x"},
			content: `{spec: {service: {name: a}, insecureSkipTLSVerify: true, caBundle: ""}}`,
			want:    `{spec: {service: {name: a}, insecureSkipTLSVerify: true}}`,
		},
		"a local APIService": {
			id:      manifest.ID{Group: "apiregistration.k8s.io", Kind: "APIService", Name: "x"},
			content: `{spec: {group: a}}`, want: `{spec: {group: a}}`,
		},
		"a conversion webhook": {
			id:      manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "x"},
			content: `{spec: {conversion: {webhook: {clientConfig: {service: {name: a}}}}}}`,
			want:    `{spec: {conversion: {webhook: {clientConfig: {service: {name: a}}}}}}`,
			paths:   []string{"/spec/conversion/webhook/clientConfig/caBundle"},
		},
		"a definition without conversion": {
			id:      manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "x"},
			content: `{spec: {}}`, want: `{spec: {}}`,
		},
		"an aggregated ClusterRole": {
			id:      manifest.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "x"},
			content: `{aggregationRule: {}}`, want: `{aggregationRule: {}}`, paths: []string{"/rules"},
		},
		"a plain ClusterRole": {
			id:      manifest.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "x"},
			content: `{rules: []}`, want: `{rules: []}`,
		},
		"an exported Deployment": {
			id:      manifest.ID{Group: "apps", Kind: "Deployment", Name: "x"},
			content: `{metadata: {annotations: {deployment.kubernetes.io/revision: "12", a: b}}}`,
			want:    `{metadata: {annotations: {deployment.kubernetes.io/revision: "12", a: b}}}`,
			paths:   []string{"/metadata/annotations/deployment.kubernetes.io~1revision"},
		},
		"a Deployment": {
			id:      manifest.ID{Group: "apps", Kind: "Deployment", Name: "x"},
			content: `{metadata: {annotations: {a: b}}}`, want: `{metadata: {annotations: {a: b}}}`,
		},
		"a caBundle that means nothing to Kubernetes": {
			id:      manifest.ID{Group: "example.com", Kind: "Webhook", Name: "x"},
			content: `{spec: {caBundle: ""}}`, want: `{spec: {caBundle: ""}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := manifest.Object{ID: test.id, Content: fixture.Object(t, test.content)}
			var paths []string
			for _, e := range Coexist(&o) {
				paths = append(paths, e.Paths...)
			}
			check.That(t, reflect.DeepEqual(paths, test.paths), "paths %v, want %v", paths, test.paths)
			want := fixture.Object(t, test.want)
			check.That(t, reflect.DeepEqual(o.Content, want), "content %v, want %v", o.Content, want)
		})
	}
}
