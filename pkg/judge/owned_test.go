package judge

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Beside Helm's manager with server-side apply another owner of declared content is drift.
func TestI4_OwnershipIsJudged(t *testing.T) {
	const markers = `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}},"f:data":{"f:key":{}}}`
	type operation = metav1.ManagedFieldsOperationType
	entry := func(manager string, op operation, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	helm := entry("helm", apply, markers)
	scale := entry("other", update, `{"f:data":{"f:key":{}}}`)
	scale.Subresource = "scale"
	status := scale
	status.Subresource = "status"
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    State
	}{
		"Helm's alone":              {[]metav1.ManagedFieldsEntry{helm}, InSync},
		"applied by another":        {[]metav1.ManagedFieldsEntry{helm, entry("other", apply, `{"f:data":{"f:key":{}}}`)}, Drifted},
		"changed there and back":    {[]metav1.ManagedFieldsEntry{helm, entry("other", update, `{"f:data":{"f:key":{}}}`)}, Drifted},
		"through a subresource":     {[]metav1.ManagedFieldsEntry{helm, scale}, Drifted},
		"through the status":        {[]metav1.ManagedFieldsEntry{helm, status}, InSync},
		"an addition of another":    {[]metav1.ManagedFieldsEntry{helm, entry("other", apply, `{"f:data":{"f:x":{}}}`)}, InSync},
		"of another tool":           {[]metav1.ManagedFieldsEntry{helm, entry("helm-controller", apply, markers)}, InSync},
		"cleared":                   {nil, Drifted},
		"of Helm's client-side one": {[]metav1.ManagedFieldsEntry{entry("helm", update, markers), scale}, InSync},
	} {
		live := object(t, config)
		live.SetManagedFields(test.entries)
		in := Input{Desired: object(t, config).Object, Live: live, ServerSide: true,
			Owner: drift.Owner{Manager: "helm", Operation: apply, Known: true}}
		got := Judge(in)
		check.That(t, got.State == test.want, "%s: %s with %v, want %s", name, got.State, got.Changes, test.want)
	}
}
