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
	paths, err := fs.Glob(crds.Files(), "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the embedded custom resource definitions: %w", err)
	}
	list := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(paths))
	for _, path := range paths {
		data, err := fs.ReadFile(crds.Files(), path)
		if err != nil {
			return nil, fmt.Errorf("reading the embedded file %s: %w", path, err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("decoding the embedded file %s: %w", path, err)
		}
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(definition)
		list = append(list, definition)
	}
	return list, nil
}

// Print writes the CustomResourceDefinitions to out as YAML documents that kubectl can apply.
func Print(out io.Writer) error {
	paths, err := fs.Glob(crds.Files(), "*.yaml")
	if err != nil {
		return fmt.Errorf("listing the embedded custom resource definitions: %w", err)
	}
	for _, path := range paths {
		// The generated files start with a document separator, so they can be joined as they are.
		data, err := fs.ReadFile(crds.Files(), path)
		if err != nil {
			return fmt.Errorf("reading the embedded file %s: %w", path, err)
		}
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}

// WriteFile writes what Print prints to a file, which it creates or replaces.
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

// Provides reports whether a stored CustomResourceDefinition has all that this version of helm-locker needs of the one
// of its name: Create would not write it. A definition of another name has nothing.
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
