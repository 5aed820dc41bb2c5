package crd

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// helmReleases returns the definition of HelmRelease and its only version.
func helmReleases(
	t *testing.T,
) (*apiextensionsv1.CustomResourceDefinition, apiextensionsv1.CustomResourceDefinitionVersion) {
	t.Helper()
	list, err := List()
	check.NoError(t, err)
	at := slices.IndexFunc(list, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return d.Name == "helmreleases.helm.cattle.io"
	})
	check.Must(t, at >= 0 && len(list[at].Spec.Versions) == 1,
		"want one version of helmreleases.helm.cattle.io, got %v", list)
	return list[at], list[at].Spec.Versions[0]
}

// field walks down the properties of a schema.
func field(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, path ...string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	at := *schema
	for _, name := range path {
		next, ok := at.Properties[name]
		check.Must(t, ok, "the schema has no field %s of %v", name, path)
		at = next
	}
	return at
}

func TestDefinitionIsHowExistingUsersKnowIt(t *testing.T) {
	definition, version := helmReleases(t)
	got := definition.Spec.Names
	check.That(t,
		got.Kind == v1alpha1.Kind && got.Plural == v1alpha1.HelmReleaseResourceName && got.Singular == "helmrelease",
		"names: %+v", got)
	check.Equal(t, definition.Spec.Scope, apiextensionsv1.NamespaceScoped, "scope")
	check.That(t, version.Name == v1alpha1.Version && version.Served && version.Storage,
		"version %s: served %v, storage %v", version.Name, version.Served, version.Storage)
	check.That(t, version.Subresources != nil && version.Subresources.Status != nil, "status is no subresource")
}

func TestShortNameLeavesThatOfFluxAlone(t *testing.T) {
	definition, _ := helmReleases(t)
	names := definition.Spec.Names.ShortNames
	check.That(t, len(names) > 0 && !slices.Contains(names, "hr"), "short names: %v", names)
}

func TestSchemaIsStructural(t *testing.T) {
	_, version := helmReleases(t)
	var internal apiextensions.JSONSchemaProps
	check.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		version.Schema.OpenAPIV3Schema, &internal, nil,
	))
	structural, err := structuralschema.NewStructural(&internal)
	check.NoError(t, err)
	errs := structuralschema.ValidateStructural(nil, structural)
	check.That(t, len(errs) == 0, "%v", errs.ToAggregate())
}

func TestReleaseIsImmutableAndTheMessageSaysWhatToDoInstead(t *testing.T) {
	_, version := helmReleases(t)
	release := field(t, version.Schema.OpenAPIV3Schema, "spec", "release")
	check.Must(t, len(release.XValidations) == 1 && release.XValidations[0].Rule == "self == oldSelf", "rules: %+v",
		release.XValidations)
	message := release.XValidations[0].Message
	check.That(t, strings.Contains(message, "delete this HelmRelease"), "message: %s", message)
	check.That(t, slices.Equal(release.Required, []string{"name", "namespace"}), "required: %v", release.Required)
}

func TestModeDefaultsToEnforce(t *testing.T) {
	_, version := helmReleases(t)
	mode := field(t, version.Schema.OpenAPIV3Schema, "spec", "mode")
	check.That(t, mode.Default != nil && string(mode.Default.Raw) == `"Enforce"`, "default: %v", mode.Default)
}

// The status of an operator must never be rejected, so only the conditions, whose schema is Kubernetes' own, have
// limits.
func TestStatusHasNoLimitsOfItsOwn(t *testing.T) {
	_, version := helmReleases(t)
	status := field(t, version.Schema.OpenAPIV3Schema, "status")
	delete(status.Properties, "conditions")
	var walk func(path string, schema apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		check.That(t,
			schema.MaxLength == nil && schema.MaxItems == nil && schema.Minimum == nil && schema.Maximum == nil &&
				schema.MinLength == nil && schema.Pattern == "" && len(schema.Enum) == 0 && len(schema.XValidations) == 0,
			"%s has a limit", path)
		for name, property := range schema.Properties {
			walk(path+"."+name, property)
		}
		if schema.Items != nil {
			walk(path+"[]", *schema.Items.Schema)
		}
	}
	walk("status", status)
}

func TestPrinterColumns(t *testing.T) {
	_, version := helmReleases(t)
	var names []string
	for _, column := range version.AdditionalPrinterColumns {
		if column.Priority == 0 {
			names = append(names, column.Name)
		}
	}
	want := []string{"Release", "Release-Namespace", "Revision", "State", "Locked", "Drifted", "Reason", "Age"}
	check.That(t, slices.Equal(names, want), "got %v, want %v", names, want)
}

func TestWriteFileWritesTheGeneratedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crds.yaml")
	check.NoError(t, WriteFile(path))
	got, err := os.ReadFile(path)
	check.NoError(t, err)
	paths, err := filepath.Glob("../../crds/*.yaml")
	check.NoError(t, err)
	var want []byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check.NoError(t, err)
		want = append(want, text...)
	}
	check.That(t, bytes.Equal(got, want), "the file differs from %v", paths)
}
