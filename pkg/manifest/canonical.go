package manifest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// Canonical writes the leaves of an object as the API server returns them: cpu "1000m" as "1", base64 without line
// breaks, times in UTC. At each path of obj it takes the value of the object after decoding into its Go type and
// encoding.
//
// It adds and loses nothing, and a null stays one. Leaves unknown to the type or omitted by it (an empty text, false)
// stay as declared. It returns an object unchanged if client-go does not know its kind, or if it does not fit its type
// (a quoted boolean). It does not change obj.
func Canonical(obj map[string]any, gvk schema.GroupVersionKind) map[string]any {
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return obj
	}
	// The server decodes JSON, so this does too: the converter of unstructured content would let overflows pass.
	data, err := json.Marshal(obj)
	if err != nil {
		return obj
	}
	if err := json.Unmarshal(data, typed); err != nil {
		return obj
	}
	canonical, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return obj
	}
	overlaid, ok := overlay(obj, canonical).(map[string]any)
	if !ok {
		return obj
	}
	return overlaid
}

// overlay returns a copy of declared with the leaves of canonical where both have one at the same path.
func overlay(declared, canonical any) any {
	switch d := declared.(type) {
	case map[string]any:
		c, ok := canonical.(map[string]any)
		if !ok {
			return runtime.DeepCopyJSONValue(d)
		}
		out := make(map[string]any, len(d))
		for key, value := range d {
			if known, found := c[key]; found && value != nil {
				out[key] = overlay(value, known)
			} else {
				out[key] = runtime.DeepCopyJSONValue(value)
			}
		}
		return out
	case []any:
		c, ok := canonical.([]any)
		if !ok || len(c) != len(d) {
			return runtime.DeepCopyJSONValue(d)
		}
		out := make([]any, len(d))
		for i, value := range d {
			out[i] = overlay(value, c[i])
		}
		return out
	}
	switch canonical.(type) {
	case nil, map[string]any, []any:
		return declared
	}
	return canonical
}
