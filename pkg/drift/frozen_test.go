package drift

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestUndeclaredImmutable compares objects that someone made immutable, in both scopes.
func TestUndeclaredImmutable(t *testing.T) {
	object := func(apiVersion, kind string, immutable any) map[string]any {
		u := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a"},
			"data": map[string]any{"key": "dmFsdWU="}}
		if immutable != nil {
			u["immutable"] = immutable
		}
		return u
	}
	settings := func(immutable any) map[string]any { return object("v1", "ConfigMap", immutable) }
	null := settings(nil)
	null["immutable"] = nil
	added := []string{"Added /immutable"}
	for name, c := range map[string]struct {
		desired, live map[string]any
		with          func(*Options)
		want          []string
	}{
		"a ConfigMap":      {settings(nil), settings(true), nil, added},
		"a Secret":         {object("v1", "Secret", nil), object("v1", "Secret", true), nil, added},
		"declared as null": {null, settings(true), nil, added},
		"false":            {settings(nil), settings(false), nil, nil},
		"declared":         {settings(true), settings(true), nil, nil},
		"declared false":   {settings(false), settings(true), nil, []string{"Modified /immutable"}},
		"another kind of that name": {object("example.com/v1", "ConfigMap", nil),
			object("example.com/v1", "ConfigMap", true), nil, nil},
		"another kind": {object("v1", "ServiceAccount", nil), object("v1", "ServiceAccount", true), nil, nil},
		"ignored": {settings(nil), settings(true), func(o *Options) {
			o.Ignore = func(path []string) bool { return len(path) == 1 && path[0] == "immutable" }
		}, nil},
		"set by a webhook": {settings(nil), settings(true), func(o *Options) {
			o.Accepted = Learn(settings(nil), settings(true), *o)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, strict := range []*Strict{nil, {ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm",
				Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:immutable":{},"f:data":{"f:key":{}}}`)}}}} {
				opt := Options{Strict: strict}
				if c.with != nil {
					c.with(&opt)
				}
				r := Compare(c.desired, c.live, opt)
				got := changes(r.Changes)
				check.Must(t, slices.Equal(got, c.want), "%q, want %q", got, c.want)
				if len(c.want) == 0 {
					continue
				}
				again := Compare(c.desired, r.Target, opt)
				check.That(t, len(again.Changes) == 0, "the target %v has changes %v", r.Target, again.Changes)
				check.That(t, c.live["immutable"] == true, "the live object was changed")
			}
		})
	}
}
