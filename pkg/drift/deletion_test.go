package drift

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDescribeDeletion(t *testing.T) {
	const held = `
metadata:
  deletionTimestamp: "2026-03-01T12:00:00Z"
  finalizers: [foregroundDeletion, example.com/backup, example.com/other]
  managedFields:
  - {manager: helm, operation: Update, time: "2026-03-01T11:00:00Z", fieldsV1: {"f:data": {}}}
  - {manager: early, operation: Update, time: "2026-03-01T11:00:00Z", fieldsV1: {"f:metadata": {"f:finalizers": {"v:\"example.com/backup\"": {}}}}}
  - {manager: kubectl-edit, operation: Apply, time: "2026-03-01T11:30:00Z", fieldsV1: {"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/backup\"": {}}}}}
  - {manager: unreadable, operation: Update, fieldsV1: {"f:metadata": []}}
`
	for name, c := range map[string]struct{ live, want string }{
		"no deletion": {"metadata: {finalizers: [a/b]}", ""},
		"a grace period": {`metadata: {deletionTimestamp: "2026-03-01T12:00:00Z"}`,
			"deletion is pending since 2026-03-01T12:00:00Z"},
		"finalizers and owners": {
			held, "deletion is pending since 2026-03-01T12:00:00Z; held by finalizer foregroundDeletion; finalizer example.com/backup, added by kubectl-edit (Apply); finalizer example.com/other",
		},
		"more than can be listed": {
			`metadata: {deletionTimestamp: "2026-03-01T12:00:00Z", finalizers: [a/1, a/2, a/3, a/4, a/5]}`,
			"deletion is pending since 2026-03-01T12:00:00Z; held by finalizer a/1; finalizer a/2; finalizer a/3; and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := DescribeDeletion(&unstructured.Unstructured{Object: obj(t, c.live)})
			check.That(t, got == c.want, "got  %s\nwant %s", got, c.want)
		})
	}
}

func TestWithoutDoneFinalizers(t *testing.T) {
	live := &unstructured.Unstructured{Object: obj(t,
		`metadata: {deletionTimestamp: "2026-03-01T12:00:00Z", finalizers: [a/held, a/foreign]}`)}
	for name, c := range map[string]struct{ desired, want string }{
		"of a Namespace": {"{apiVersion: v1, kind: Namespace, spec: {finalizers: [a/held]}}",
			"{apiVersion: v1, kind: Namespace, spec: {}}"},
		"in another spec": {"{apiVersion: a/v1, kind: Namespace, spec: {finalizers: [a/held]}}",
			"{apiVersion: a/v1, kind: Namespace, spec: {finalizers: [a/held]}}"},
		"none declared":          {"metadata: {name: x}", "metadata: {name: x}"},
		"all still there":        {"metadata: {finalizers: [a/held]}", "metadata: {finalizers: [a/held]}"},
		"one is done":            {"metadata: {finalizers: [a/done, a/held]}", "metadata: {finalizers: [a/held]}"},
		"all are done":           {"metadata: {name: x, finalizers: [a/done]}", "metadata: {name: x}"},
		"nonsense in the middle": {"metadata: {finalizers: [7, a/held]}", "metadata: {finalizers: [a/held]}"},
	} {
		t.Run(name, func(t *testing.T) {
			desired, before := obj(t, c.desired), obj(t, c.desired)
			got, want := WithoutDoneFinalizers(desired, live), obj(t, c.want)
			check.That(t, deepEqual(got, want), "got %v, want %v", got, want)
			check.That(t, deepEqual(desired, before), "the desired object has changed: %v", desired)
		})
	}
}
