package crd

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// edit returns a copy of a definition, changed.
func edit(
	definition *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.CustomResourceDefinition),
) *apiextensionsv1.CustomResourceDefinition {
	edited := definition.DeepCopy()
	change(edited)
	return edited
}

// specOf returns the schema of spec in the first version of a definition.
func specOf(definition *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.JSONSchemaProps {
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

func TestMerge(t *testing.T) {
	desired, _ := helmReleases(t)
	newer := apiextensionsv1.JSONSchemaProps{Type: "string", Description: "a field of a newer version"}
	type definition = apiextensionsv1.CustomResourceDefinition

	tests := []struct {
		name       string
		live, want func(*definition)
	}{
		{
			name: "a definition that is up to date stays as it is",
			live: func(*definition) {},
			want: func(*definition) {},
		},
		{
			name: "what others wrote into metadata and status stays",
			live: func(d *definition) {
				d.ResourceVersion, d.UID = "7", "abc"
				d.Labels = map[string]string{"team": "a"}
				d.Annotations["other"] = "b"
				d.Status.StoredVersions = []string{"v1alpha1"}
			},
			want: func(d *definition) {
				d.ResourceVersion, d.UID = "7", "abc"
				d.Labels = map[string]string{"team": "a"}
				d.Annotations["other"] = "b"
				d.Status.StoredVersions = []string{"v1alpha1"}
			},
		},
		{
			name: "fields that are missing are added",
			live: func(d *definition) { delete(specOf(d).Properties, "suspendUntil") },
			want: func(*definition) {},
		},
		{
			name: "fields of a newer version stay, at every level",
			live: func(d *definition) {
				specOf(d).Properties["newer"] = newer
				specOf(d).Properties["release"].Properties["newer"] = newer
				d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["recentDrift"].Items.Schema.Properties["newer"] = newer
			},
			want: func(d *definition) {
				specOf(d).Properties["newer"] = newer
				specOf(d).Properties["release"].Properties["newer"] = newer
				d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["recentDrift"].Items.Schema.Properties["newer"] = newer
			},
		},
		{
			name: "a field that has another schema gets ours",
			live: func(d *definition) {
				specOf(d).Properties["mode"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
			},
			want: func(*definition) {},
		},
		{
			name: "a version of others stays",
			live: func(d *definition) {
				d.Spec.Versions = append(d.Spec.Versions,
					apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1alpha0", Served: true})
			},
			want: func(d *definition) {
				d.Spec.Versions = append(d.Spec.Versions,
					apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1alpha0", Served: true})
			},
		},
		{
			name: "a newer version stays the storage version",
			live: func(d *definition) {
				d.Spec.Versions[0].Storage = false
				d.Spec.Versions = append(d.Spec.Versions,
					apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true, Storage: true})
			},
			want: func(d *definition) {
				d.Spec.Versions[0].Storage = false
				d.Spec.Versions = append(d.Spec.Versions,
					apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true, Storage: true})
			},
		},
		{
			name: "short names and categories of others stay",
			live: func(d *definition) {
				d.Spec.Names.ShortNames, d.Spec.Names.Categories = []string{"lock"}, []string{"all"}
			},
			want: func(d *definition) {
				d.Spec.Names.ShortNames, d.Spec.Names.Categories = []string{"lock", "hlr"}, []string{"all", "helm"}
			},
		},
		{
			name: "a definition from before structural schemas becomes a structural one",
			live: func(d *definition) {
				d.Spec.PreserveUnknownFields = true
				d.Spec.Versions[0].Schema = nil
				d.Spec.Versions[0].Subresources = nil
			},
			want: func(*definition) {},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			live, want := edit(desired, test.live), edit(desired, test.want)
			liveBefore, desiredBefore := live.DeepCopy(), desired.DeepCopy()

			merged := merge(live, desired)
			check.That(t, equality.Semantic.DeepEqual(merged, want), "got  %+v\nwant %+v", merged, want)
			again := merge(merged, desired)
			check.That(t, equality.Semantic.DeepEqual(again, merged), "a second merge changes something")
			check.That(t, equality.Semantic.DeepEqual(live, liveBefore) && equality.Semantic.DeepEqual(desired, desiredBefore),
				"merge changed an argument")
		})
	}
}
