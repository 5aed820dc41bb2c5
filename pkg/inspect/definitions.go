package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// DefinitionGaps compares the CustomResourceDefinitions in the directory crds/ of a release's recorded chart with those
// of the cluster. It returns a sentence for each that is missing there, or lacks a version or a field. Helm installs
// these definitions once, and upgrades none. The record has no sub-charts.
func (c *Cluster) DefinitionGaps(ctx context.Context, record release.Record) ([]string, error) {
	encoded, err := c.Chart(ctx, record)
	if errors.Is(err, release.ErrIncomplete) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var recorded struct {
		Files []struct {
			Name string `json:"name"`
			Data []byte `json:"data"`
		} `json:"files"`
	}
	if err := json.Unmarshal(encoded, &recorded); err != nil {
		return nil, fmt.Errorf("read the chart of revision %d of release %s: %w", record.Revision, record.Key, err)
	}
	var gaps []string
	for _, file := range recorded.Files {
		extension := path.Ext(file.Name)
		if !strings.HasPrefix(file.Name, "crds/") || !slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			continue
		}
		definitions, err := definitionsIn(file.Data)
		if err != nil {
			gaps = append(gaps, fmt.Sprintf("%s of the chart cannot be read: %v", file.Name, err))
		}
		for _, want := range definitions {
			gap, err := definitionGap(ctx, c, want)
			if err != nil {
				return nil, err
			}
			if gap != "" {
				gaps = append(gaps, gap)
			}
		}
	}
	return gaps, nil
}

// definitionsIn returns the definitions in a file of YAML documents, and skips other objects, as Helm installs any. A
// tenant may have written the file: it has the bounds of a manifest, and the names become paths of requests.
func definitionsIn(text []byte) (found []*apiextensionsv1.CustomResourceDefinition, err error) {
	if !manifest.Decodable(string(text)) {
		return nil, errors.New("it is not within the bounds of YAML")
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), len(text)+1)
	for {
		d := &apiextensionsv1.CustomResourceDefinition{}
		err := decoder.Decode(d)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		if d.Kind != "CustomResourceDefinition" || d.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
			continue
		}
		if len(validation.IsDNS1123Subdomain(d.Name)) > 0 {
			return found, fmt.Errorf("%q is no name of a CustomResourceDefinition", d.Name)
		}
		found = append(found, d)
	}
}

func definitionGap(ctx context.Context, c *Cluster, want *apiextensionsv1.CustomResourceDefinition) (string, error) {
	live, err := c.Dynamic.Resource(definitionsGVR).Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("CustomResourceDefinition %s does not exist", want.Name), nil
	}
	if err != nil {
		return "", fmt.Errorf("read CustomResourceDefinition %s: %w", want.Name, err)
	}
	have := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, have); err != nil {
		return "", fmt.Errorf("read CustomResourceDefinition %s: %w", want.Name, err)
	}
	var lacks []string
	for _, v := range want.Spec.Versions {
		i := slices.IndexFunc(have.Spec.Versions, func(of apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return of.Name == v.Name && (of.Served || !v.Served)
		})
		switch {
		case i < 0:
			lacks = append(lacks, "version "+v.Name)
		case v.Schema != nil && have.Spec.Versions[i].Schema != nil:
			schema := have.Spec.Versions[i].Schema.OpenAPIV3Schema
			for _, field := range missingFields(v.Schema.OpenAPIV3Schema, schema, "") {
				lacks = append(lacks, field+" of version "+v.Name)
			}
		}
	}
	if len(lacks) == 0 {
		return "", nil
	}
	return fmt.Sprintf("CustomResourceDefinition %s lacks %s", want.Name, plain.Names(lacks, plain.MaxNamed)), nil
}

// missingFields returns the fields of a schema that another one prunes, in order; the parent alone of fields below it.
func missingFields(want, have *apiextensionsv1.JSONSchemaProps, at string) (missing []string) {
	if want == nil || have == nil || have.XPreserveUnknownFields != nil && *have.XPreserveUnknownFields {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(want.Properties)) {
		below := want.Properties[name]
		of, found := have.Properties[name]
		switch {
		case found:
			missing = append(missing, missingFields(&below, &of, at+"/"+name)...)
		case have.AdditionalProperties == nil:
			missing = append(missing, at+"/"+name)
		}
	}
	if want.Items != nil && have.Items != nil {
		missing = append(missing, missingFields(want.Items.Schema, have.Items.Schema, at+"/*")...)
	}
	if a, b := want.AdditionalProperties, have.AdditionalProperties; a != nil && b != nil {
		missing = append(missing, missingFields(a.Schema, b.Schema, at+"/*")...)
	}
	return missing
}
