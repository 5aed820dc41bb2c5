// Package crd installs the CustomResourceDefinitions of helm-locker into a cluster, and renders them.
package crd

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/crds"
)

// List returns the CustomResourceDefinitions of this version of helm-locker, with the API server's defaults filled in.
// The caller owns the result.
func List() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := files()
	if err != nil {
		return nil, err
	}
	list := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(files))
	for _, data := range files {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("decoding the embedded custom resource definitions: %w", err)
		}
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(definition)
		list = append(list, definition)
	}
	return list, nil
}

// files returns the embedded files in their order.
func files() ([][]byte, error) {
	paths, err := fs.Glob(crds.Files(), "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the embedded custom resource definitions: %w", err)
	}
	contents := make([][]byte, len(paths))
	for i, path := range paths {
		if contents[i], err = fs.ReadFile(crds.Files(), path); err != nil {
			return nil, fmt.Errorf("reading the embedded file %s: %w", path, err)
		}
	}
	return contents, nil
}

// Print writes the CustomResourceDefinitions to out as YAML documents for kubectl.
func Print(out io.Writer) error {
	files, err := files()
	if err != nil {
		return err
	}
	// The generated files start with a document separator, so they can be joined as they are.
	if _, err := out.Write(bytes.Join(files, nil)); err != nil {
		return fmt.Errorf("writing the custom resource definitions: %w", err)
	}
	return nil
}

// WriteFile writes the output of Print to a file, which it creates or replaces.
func WriteFile(filename string) error {
	var buffer bytes.Buffer
	if err := Print(&buffer); err != nil {
		return err
	}
	if err := os.WriteFile(filename, buffer.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the custom resource definitions: %w", err)
	}
	return nil
}

// Provides reports whether a stored CustomResourceDefinition offers everything that this version of helm-locker needs
// of the one of its name: Create would not write it. It returns false for another name.
func Provides(live *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	definitions, err := List()
	if err != nil {
		return false, err
	}
	for _, desired := range definitions {
		if desired.Name == live.Name {
			return equality.Semantic.DeepEqual(live, merge(live, desired)), nil
		}
	}
	return false, nil
}
