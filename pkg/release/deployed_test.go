package release

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDeployedAtIsWhenTheStatusWasWritten(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	entry := func(manager, fields string, at time.Time) metav1.ManagedFieldsEntry {
		then := metav1.NewTime(at)
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &then, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	helm := entry("helm", `{"f:data":{"f:release":{}},"f:metadata":{"f:labels":{"f:status":{}}},"f:type":{}}`, at)
	later := entry("kubectl-label", `{"f:metadata":{"f:labels":{"f:touched":{}}},"f:status":{}}`, at.Add(time.Hour))
	for name, c := range map[string]struct {
		status  string
		entries []metav1.ManagedFieldsEntry
		want    time.Time
	}{
		"deployed":              {"deployed", []metav1.ManagedFieldsEntry{helm}, at},
		"touched since":         {"deployed", []metav1.ManagedFieldsEntry{helm, later}, at},
		"not deployed":          {"pending-upgrade", []metav1.ManagedFieldsEntry{helm}, time.Time{}},
		"without managedFields": {"deployed", nil, time.Time{}},
	} {
		got := DeployedAt(&metav1.ObjectMeta{Labels: map[string]string{StatusLabel: c.status},
			ManagedFields: c.entries})
		check.That(t, got.Equal(c.want), "%s: deployed at %v, want %v", name, got, c.want)
	}
}
