package cli

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/report"
)

// encode returns a value as YAML or JSON, neutral.
func encode(value any, format string) (string, error) {
	if format == "json" {
		return encodeJSON(value)
	}
	encoded, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	return report.Block(string(encoded)), nil
}

// encodeHelmRelease returns a HelmRelease as one would write it: without status and what the API server adds.
func encodeHelmRelease(hr *v1alpha1.HelmRelease, format string) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	if err != nil {
		return "", fmt.Errorf("encode the HelmRelease: %w", err)
	}
	content["apiVersion"], content["kind"] = v1alpha1.SchemeGroupVersion.String(), v1alpha1.Kind
	return encode(report.Substance(content), format)
}
