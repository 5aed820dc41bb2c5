package crd

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// merge returns the form of live that offers everything in desired. Several programs of different ages may embed
// helm-locker and install the same definition into one cluster, so merge removes nothing that only live has:
// versions, fields of a version's schema, names, labels and annotations. Where both have a value, desired wins.
// Neither argument is changed.
func merge(live, desired *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	merged := live.DeepCopy()
	merged.Labels = labels.Merge(merged.Labels, desired.Labels)
	merged.Annotations = labels.Merge(merged.Annotations, desired.Annotations)

	names := &merged.Spec.Names
	names.ListKind = desired.Spec.Names.ListKind
	names.Singular = desired.Spec.Names.Singular
	names.ShortNames = union(names.ShortNames, desired.Spec.Names.ShortNames)
	names.Categories = union(names.Categories, desired.Spec.Names.Categories)

	// Definitions from before apiextensions.k8s.io/v1 may still have this set; it forbids defaults in the schema.
	merged.Spec.PreserveUnknownFields = false
	merged.Spec.Versions = mergeVersions(merged.Spec.Versions, desired.Spec.Versions)
	return merged
}

// mergeVersions adds the desired versions to the live ones. There is exactly one storage version: the live one stays if
// only live knows it, because then its owner is newer.
func mergeVersions(
	live, desired []apiextensionsv1.CustomResourceDefinitionVersion,
) []apiextensionsv1.CustomResourceDefinitionVersion {
	index := func(list []apiextensionsv1.CustomResourceDefinitionVersion, name string) int {
		return slices.IndexFunc(
			list, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name },
		)
	}
	foreignStorage := slices.ContainsFunc(live, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Storage && index(desired, v.Name) < 0
	})
	merged := slices.Clone(live)
	for i := range desired {
		version := *desired[i].DeepCopy()
		version.Storage = version.Storage && !foreignStorage
		at := index(merged, version.Name)
		if at < 0 {
			merged = append(merged, version)
			continue
		}
		if version.Schema != nil && merged[at].Schema != nil {
			version.Schema.OpenAPIV3Schema = mergeSchema(merged[at].Schema.OpenAPIV3Schema,
				version.Schema.OpenAPIV3Schema)
		}
		merged[at] = version
	}
	return merged
}

// mergeSchema returns the desired schema with live's further fields, at every level. It may share parts with both.
func mergeSchema(live, desired *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if live == nil || desired == nil || live.Type != desired.Type {
		return desired
	}
	merged := *desired
	if len(live.Properties)+len(desired.Properties) > 0 {
		merged.Properties = maps.Clone(live.Properties)
		if merged.Properties == nil {
			merged.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		for name, field := range desired.Properties {
			if old, ok := live.Properties[name]; ok {
				field = *mergeSchema(&old, &field)
			}
			merged.Properties[name] = field
		}
	}
	if live.Items != nil && desired.Items != nil && desired.Items.Schema != nil {
		items := *desired.Items
		items.Schema = mergeSchema(live.Items.Schema, desired.Items.Schema)
		merged.Items = &items
	}
	return &merged
}

// union appends the further elements of extra to base. It keeps the order of both, so that a second merge changes
// nothing.
func union(base, extra []string) []string {
	merged := slices.Clone(base)
	for _, name := range extra {
		if !slices.Contains(merged, name) {
			merged = append(merged, name)
		}
	}
	return merged
}
