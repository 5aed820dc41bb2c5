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

	nothing := func(*definition) {}
	metadata := func(d *definition) {
		d.ResourceVersion, d.UID = "7", "abc"
		d.Labels = map[string]string{"team": "a"}
		d.Annotations["other"] = "b"
		d.Status.StoredVersions = []string{"v1alpha1"}
	}
	fields := func(d *definition) {
		specOf(d).Properties["newer"] = newer
		specOf(d).Properties["release"].Properties["newer"] = newer
		status := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		status.Properties["recentDrift"].Items.Schema.Properties["newer"] = newer
	}
	version := func(name string, storage bool) func(*definition) {
		return func(d *definition) {
			d.Spec.Versions[0].Storage = !storage
			d.Spec.Versions = append(d.Spec.Versions,
				apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: storage})
		}
	}
	names := func(short, categories []string) func(*definition) {
		return func(d *definition) { d.Spec.Names.ShortNames, d.Spec.Names.Categories = short, categories }
	}

	for name, test := range map[string]struct{ live, want func(*definition) }{
		"a definition that is up to date stays as it is":   {nothing, nothing},
		"what others wrote into metadata and status stays": {metadata, metadata},
		"fields of a newer version stay, at every level":   {fields, fields},
		"a version of others stays":                        {version("v1alpha0", false), version("v1alpha0", false)},
		"a newer version stays the storage version":        {version("v1", true), version("v1", true)},
		"short names and categories of others stay": {names([]string{"lock"}, []string{"all"}),
			names([]string{"lock", "hlr"}, []string{"all", "helm"})},
		"fields that are missing are added": {func(d *definition) { delete(specOf(d).Properties, "suspendUntil") }, nothing},
		"a field that has another schema gets ours": {func(d *definition) {
			specOf(d).Properties["mode"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
		}, nothing},
		"a definition from before structural schemas becomes a structural one": {func(d *definition) {
			d.Spec.PreserveUnknownFields = true
			d.Spec.Versions[0].Schema, d.Spec.Versions[0].Subresources = nil, nil
		}, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			live, want := edit(desired, test.live), edit(desired, test.want)
			liveBefore, desiredBefore := live.DeepCopy(), desired.DeepCopy()

			merged := merge(live, desired)
			check.That(t, equality.Semantic.DeepEqual(merged, want), "got  %+v\nwant %+v", merged, want)
			again := merge(merged, desired)
			check.That(t, equality.Semantic.DeepEqual(again, merged), "a second merge changes something")
			check.That(t,
				equality.Semantic.DeepEqual(live, liveBefore) && equality.Semantic.DeepEqual(desired, desiredBefore),
				"merge changed an argument")
		})
	}
}
