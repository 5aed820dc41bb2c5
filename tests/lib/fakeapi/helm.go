package fakeapi

import (
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Namespace is where releases are.
const Namespace = "apps"

// NewKind returns a kind.
func NewKind(group, version, resource, kind string, namespaced bool) Kind {
	gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	return Kind{GroupVersionResource: gvr, Kind: kind, Namespaced: namespaced}
}

// builtIn returns the kinds of every server: those of the operator, and some for releases.
func builtIn() []Kind {
	return []Kind{
		NewKind("", "v1", "namespaces", "Namespace", false), NewKind("", "v1", "secrets", "Secret", true),
		NewKind("", "v1", "configmaps", "ConfigMap", true), NewKind("", "v1", "events", "Event", true),
		NewKind("apps", "v1", "deployments", "Deployment", true),
		NewKind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true),
		NewKind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false),
		NewKind("helm.cattle.io", "v1alpha1", "helmreleases", "HelmRelease", true),
	}
}

// Release stores a revision of release apps/NAME, as Helm does.
func (s *Server) Release(name string, revision int, status helmrelease.Status, manifest string) {
	s.Helper()
	rel := &helmrelease.Release{
		Name: name, Namespace: Namespace, Version: revision, Manifest: manifest,
		Info:  &helmrelease.Info{Status: status, LastDeployed: helmtime.Now(), Description: "Install complete"},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "1.0.0"}},
	}
	err := s.Records.Create(rel)
	if err != nil {
		err = s.Records.Update(rel)
	}
	check.NoError(s, err)
}

// Object parses YAML.
func (s *Server) Object(text string) map[string]any {
	s.Helper()
	var o map[string]any
	check.NoError(s, yaml.Unmarshal([]byte(text), &o))
	return o
}

// Deploy writes an object as Helm does for release NAME.
func (s *Server) Deploy(name, text string) {
	s.Helper()
	o := &unstructured.Unstructured{Object: s.Object(text)}
	o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{"app.kubernetes.io/managed-by": "Helm"}))
	o.SetAnnotations(labels.Merge(o.GetAnnotations(), labels.Set{"meta.helm.sh/release-name": name,
		"meta.helm.sh/release-namespace": Namespace}))
	o.SetNamespace(Namespace)
	s.Put(o.Object)
}
