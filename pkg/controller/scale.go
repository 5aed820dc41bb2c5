package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scaled returns the part of an object that a Scale stands for: the number of replicas, at the path where the object
// has it. A Scale leaves the number out when it is zero.
func scaled(scale *unstructured.Unstructured, path []string) (*unstructured.Unstructured, error) {
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return nil, fmt.Errorf("read the Scale: %w", err)
	}
	unstructured.RemoveNestedField(scale.Object, "spec")
	return scale, unstructured.SetNestedField(scale.Object, n, path...)
}
