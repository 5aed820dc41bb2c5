package guard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// send updates a subresource, and reports whether the object is another one than before (but for its status). A request
// that took so long that the guard may have had no time is sent again.
func (s *sweep) send(
	sub subresource, object dynamic.ResourceInterface, before *unstructured.Unstructured, body map[string]any,
	dryRun ...string,
) (said string, changes bool, err error) {
	u := &unstructured.Unstructured{Object: body}
	u.SetResourceVersion("")
	for {
		s.warnings.take()
		begun := time.Now()
		after, err := object.Update(s.Ctx, u, metav1.UpdateOptions{DryRun: dryRun}, sub.name)
		said := s.warnings.take()
		if err == nil && said == "" && time.Since(begun) > time.Second && len(dryRun) > 0 {
			continue
		}
		if err != nil {
			return said, false, err
		}
		if after.GetKind() == before.GetKind() {
			return said, !reflect.DeepEqual(unlike(after), unlike(before)), nil
		}
		n, _, _ := unstructured.NestedInt64(after.Object, "spec", "replicas") // a Scale has nothing else of the object
		was, _, err := unstructured.NestedInt64(before.Object, "spec", "replicas")
		return said, n != was, err
	}
}

// requests are the bodies to send, by what they do.
func (s *sweep) requests(
	sub subresource, object dynamic.ResourceInterface, before *unstructured.Unstructured,
) map[string]map[string]any {
	all := map[string]map[string]any{}
	if sub.kind != before.GetKind() {
		scale, err := object.Get(s.Ctx, before.GetName(), metav1.GetOptions{}, sub.name)
		check.NoError(s, err)
		check.NoError(s, unstructured.SetNestedField(scale.Object, int64(7), "spec", "replicas"))
		all["a number of replicas"] = scale.Object
		return all
	}
	for what, patch := range map[string]string{
		"Helm's label":             `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"other"}}}`,
		"an addition: a label":     `{"metadata":{"labels":{"added":"yes"}}}`,
		"another release":          otherOwner,
		"an owner":                 `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`,
		"an addition: a finalizer": `{"metadata":{"finalizers":["example.com/added"]}}`,
		"requests":                 `{"spec":{"containers":[{"name":"container7","resources":{"requests":{"cpu":"1k"},"limits":{"cpu":"1M"}}}]}}`,
		"all finalizers":           `{"spec":{"finalizers":null}}`,
	} {
		merged, err := jsonpatch.MergePatch(s.text(before), []byte(patch))
		check.NoError(s, err)
		all[what] = s.object(merged)
	}
	declared := s.declared[sub.of.GroupResource()]
	for _, t := range kit.Sample(kit.Tamperings(declared.Object), 12) {
		patches, err := t.Patches(declared.Object, before.Object)
		check.NoError(s, err)
		for i, patch := range patches {
			decoded, err := jsonpatch.DecodePatch(patch)
			check.NoError(s, err)
			changed, err := decoded.Apply(s.text(before))
			check.NoError(s, err)
			all[fmt.Sprintf("%s (%d)", t, i)] = s.object(changed)
		}
	}
	return all
}

func (s *sweep) text(u *unstructured.Unstructured) []byte {
	text, err := json.Marshal(u)
	check.NoError(s, err)
	return text
}

func (s *sweep) object(text []byte) map[string]any {
	u := &unstructured.Unstructured{}
	check.NoError(s, u.UnmarshalJSON(text))
	return u.Object
}
