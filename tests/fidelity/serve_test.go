package fidelity

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

func asObject(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

// asEvent returns the object of a watch event; nil when it has none, or a deleted one.
func asEvent(event watch.Event) *unstructured.Unstructured {
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == watch.Deleted {
		return nil
	}
	return u
}

// to returns the operator's accepted writes to the object of a name.
func (w *fixture) to(name string) []cluster.Request {
	return slices.DeleteFunc(w.landed(), func(r cluster.Request) bool { return !strings.HasSuffix(r.Path, "/"+name) })
}
