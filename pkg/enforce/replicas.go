package enforce

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keepReplicas takes the manifest's replica count out of what is to be applied when an autoscaler of the release has chosen
// another one: to apply it would scale the workload. If Helm's manager owns the live count, that count is applied in its
// stead, because a field that an apply leaves out, and that nobody else owns, is reset.
func (r *Revert) keepReplicas(desired map[string]any) {
	live, ok, err := unstructured.NestedInt64(r.Live.Object, "spec", "replicas")
	if !ok || err != nil || !r.Replicas.Contains(live) {
		return
	}
	if _, declared, err := unstructured.NestedFieldNoCopy(desired, "spec", "replicas"); !declared || err != nil {
		return
	}
	if r.ownsReplicas() {
		setPath(desired, live, "spec", "replicas")
		return
	}
	unstructured.RemoveNestedField(desired, "spec", "replicas")
}

// ownsReplicas says whether Helm's manager owns the live replica count by server-side apply.
func (r *Revert) ownsReplicas() bool {
	for _, entry := range r.Live.GetManagedFields() {
		if entry.Manager != r.Owner.Manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return true // the careful answer: the count is applied as it is
		}
		if _, owned := fields.Spec["f:replicas"]; owned {
			return true
		}
	}
	return false
}
