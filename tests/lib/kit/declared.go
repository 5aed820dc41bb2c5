package kit

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definitions are the CustomResourceDefinitions.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// Declared returns a manifest of ConfigMaps whose key is "declared".
func Declared(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(ConfigMap(name, "declared"))
	}
	return b.String()
}
