package tamper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// served returns the stubs of served kinds as manifests. unserved counts the rest.
func served(all []kit.Stub, kinds map[schema.GroupVersionResource]string) (manifests []map[string]any, unserved int) {
	for _, s := range all {
		kind, ok := kinds[s.Resource]
		if !ok || isUnfit(s.Resource) {
			unserved++
			continue
		}
		s.Content["apiVersion"], s.Content["kind"] = s.Resource.GroupVersion().String(), kind
		manifests = append(manifests, s.Content)
	}
	slices.SortFunc(manifests, func(a, b map[string]any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return manifests, unserved
}

// isUnfit reports resources whose objects do not last: the API server itself removes versions of its storage and
// APIServices of groups that it does not serve, and Events expire.
func isUnfit(r schema.GroupVersionResource) bool {
	switch r.Resource {
	case "storageversions", "apiservices", "events":
		return true
	}
	return false
}

func nameOf(manifest map[string]any) string {
	u := unstructured.Unstructured{Object: manifest}
	return u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetName()
}

// document returns manifests as one text. JSON is YAML, too.
func document(manifests []map[string]any) (string, error) {
	var b strings.Builder
	for _, m := range manifests {
		content, err := json.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("encode %s: %w", nameOf(m), err)
		}
		b.WriteString("---\n" + string(content) + "\n")
	}
	return b.String(), nil
}
