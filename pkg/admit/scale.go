package admit

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
)

// scaled returns the part of an object that a Scale represents: the number of replicas, at its path in the object. A
// Scale leaves the number out when it is zero.
func scaled(scale *unstructured.Unstructured, path []string) (*unstructured.Unstructured, error) {
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return nil, fmt.Errorf("read the Scale: %w", err)
	}
	unstructured.RemoveNestedField(scale.Object, "spec")
	return scale, unstructured.SetNestedField(scale.Object, n, path...)
}

// rescaled judges a request to change the number of replicas again, by the current autoscalers.
func (ad *Admission) rescaled(ctx context.Context, q *question) (judge.AdmissionReason, []drift.Change) {
	live, err := ad.Inputs.Scalers.List(ctx, q.ID.Namespace)
	if err != nil {
		ad.Log.WithField("object", q.ID.String()).Debugf("guard: %s", apierror.Safe(err))
	}
	if err == nil || q.Replicas == nil { // the range of a manifest is known all the same
		q.Input = q.Scaled(live, ad.Inputs.Trusts(q.lock.Ignore, q.ID))
	}
	reason, changes := judge.Admit(q.Admission)
	if q.ScalersUnknown && reason != judge.StopChange {
		reason = judge.AdmitUnknown
	}
	return reason, changes
}
