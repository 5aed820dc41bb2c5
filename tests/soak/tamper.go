package main

import (
	"context"
	"math/rand/v2"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// tamperer changes and deletes objects of releases.
type tamperer struct {
	client dynamic.Interface
	random *rand.Rand
	report *report

	mu       sync.Mutex
	declared map[string][]*unstructured.Unstructured // by release: what it declared when somebody last looked
}

func (t *tamperer) learn(release string, objects []*unstructured.Unstructured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.declared[release] = objects
}

func (t *tamperer) pick() *unstructured.Unstructured {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*unstructured.Unstructured
	for _, objects := range t.declared {
		all = append(all, objects...)
	}
	if len(all) == 0 {
		return nil
	}
	return all[t.random.IntN(len(all))]
}

// once tampers with one object. A missing object and a refusal are no errors.
func (t *tamperer) once(ctx context.Context) {
	declared := t.pick()
	if declared == nil {
		return
	}
	client := t.client.Resource(resourceOf(declared)).Namespace(declared.GetNamespace())
	patch := func(kind types.PatchType, body string) error {
		_, err := client.Patch(ctx, declared.GetName(), kind, []byte(body),
			metav1.PatchOptions{FieldManager: kit.Tamperer})
		return err
	}
	switch t.random.IntN(8) {
	case 0:
		if client.Delete(ctx, declared.GetName(), metav1.DeleteOptions{}) == nil {
			t.report.count("tampering: objects deleted")
		}
	case 1:
		body := `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null},"annotations":{"meta.helm.sh/release-name":"other"}}}`
		if patch(types.MergePatchType, body) == nil {
			t.report.count("tampering: objects taken away from their release")
		}
	case 2:
		if patch(types.MergePatchType,
			`{"metadata":{"labels":{"foreign":"label"},"annotations":{"foreign":"annotation"}}}`) == nil {
			t.report.count("tampering: labels and annotations added, which stay")
		}
	default:
		live, err := client.Get(ctx, declared.GetName(), metav1.GetOptions{})
		if err != nil {
			return
		}
		ways := kit.Tamperings(declared.Object)
		way := ways[t.random.IntN(len(ways))]
		patches, err := way.Patches(declared.Object, live.Object)
		if err != nil {
			return
		}
		for _, body := range patches {
			if patch(types.JSONPatchType, string(body)) == nil {
				t.report.count(map[bool]string{true: "tampering: declared fields removed",
					false: "tampering: declared values edited"}[way.Remove])
				return
			}
		}
	}
}
