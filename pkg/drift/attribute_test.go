package drift

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// wrote is a managedFields entry of manager, second seconds after nine.
func wrote(
	manager string, op metav1.ManagedFieldsOperationType, sub string, second int, fields string,
) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: op, Subresource: sub,
		Time:     &metav1.Time{Time: seconds(second)},
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func seconds(s int) time.Time { return time.Date(2026, 1, 1, 9, 0, s, 0, time.UTC) }

const (
	update = metav1.ManagedFieldsOperationUpdate
	apply  = metav1.ManagedFieldsOperationApply

	helmFields = `{"f:metadata":{"f:annotations":{".":{},"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}},` +
		`"f:labels":{"f:app.kubernetes.io/managed-by":{}}},"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`
)

func TestManagedBy(t *testing.T) {
	for name, tc := range map[string]struct {
		fields entries
		want   Owner
	}{
		"nobody owns Helm's metadata": {
			fields: entries{wrote("kubectl", update, "", 1, `{"f:spec":{}}`)},
			want:   Owner{Manager: "helm", Operation: update},
		},
		"Helm 4 applied it": {
			fields: entries{wrote("kubectl", update, "", 2, `{"f:spec":{}}`),
				wrote("helm", apply, "", 1, helmFields)},
			want: Owner{Manager: "helm", Operation: apply, Known: true},
		},
		"another tool with Helm inside": {
			fields: entries{wrote("k3s", update, "", 1, helmFields)},
			want:   Owner{Manager: "k3s", Operation: update, Known: true},
		},
		"somebody edited the release name": {
			fields: entries{
				wrote("kubectl-edit", update, "", 9, `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`),
				wrote("helm", update, "", 1,
					`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-namespace":{}},"f:labels":{"f:app.kubernetes.io/managed-by":{}}}}`),
			},
			want: Owner{Manager: "helm", Operation: update, Known: true},
		},
		"somebody edited only the release name and nothing else is left": {
			fields: entries{wrote("x", update, "", 9,
				`{"f:metadata":{"f:labels":{"f:app.kubernetes.io/managed-by":{}}}}`)},
			want: Owner{Manager: "helm", Operation: update},
		},
		"only the name, applied": {
			fields: entries{wrote("helm", apply, "", 1,
				`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`)},
			want: Owner{Manager: "helm", Operation: apply, Known: true},
		},
		"an entry of a subresource does not count": {
			fields: entries{wrote("x", update, "status", 1, helmFields)},
			want:   Owner{Manager: "helm", Operation: update},
		},
		"no entries": {want: Owner{Manager: "helm", Operation: update}},
	} {
		t.Run(name, func(t *testing.T) { check.Equal(t, ManagedBy(tc.fields), tc.want) })
	}
}

func TestAttribute(t *testing.T) {
	helm := wrote("helm", update, "", 10, helmFields)
	const service = `{apiVersion: v1, kind: Service, metadata: {labels: {a/b: x}, finalizers: [f]}, spec: {type: ClusterIP, ports: [{port: 80}], l: [1]}}`
	kubectl := func(second int, fields string) metav1.ManagedFieldsEntry {
		return wrote("kubectl-edit", update, "", second, fields)
	}
	for name, tc := range map[string]struct {
		live    string
		fields  entries
		changes []Change
		manager string
		second  int
	}{
		"the owner of a modified field": {
			fields: entries{helm, kubectl(12, `{"f:spec":{"f:type":{}}}`),
				wrote("other", update, "", 50, `{"f:spec":{"f:other":{}}}`)},
			changes: []Change{{"/spec/type", Modified}},
			manager: "kubectl-edit", second: 12,
		},
		"the latest of several owners": {
			fields: entries{helm, kubectl(12, `{"f:spec":{"f:type":{}}}`),
				wrote("other", apply, "", 50, `{"f:spec":{"f:type":{}}}`)},
			changes: []Change{{"/spec/type", Modified}},
			manager: "other", second: 50,
		},
		"the owner of a label with a slash": {
			fields:  entries{helm, kubectl(12, `{"f:metadata":{"f:labels":{"f:a/b":{}}}}`)},
			changes: []Change{{"/metadata/labels/a~1b", Modified}},
			manager: "kubectl-edit", second: 12,
		},
		"the owner of a field in a list element, by the element's key and its default": {
			fields: entries{helm,
				kubectl(12, `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}}}}`),
				wrote("udp", update, "", 50, `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"UDP\"}":{"f:name":{}}}}}`)},
			changes: []Change{{"/spec/ports/0/name", Modified}},
			manager: "kubectl-edit", second: 12,
		},
		"the owner of the element that took a declared one's place": {
			live: `{spec: {ports: [{port: 9}, {port: 81, protocol: TCP}]}}`,
			fields: entries{helm,
				kubectl(12, `{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{}}}}}`),
				wrote("other", update, "", 50, `{"f:spec":{"f:ports":{"k:{\"port\":9,\"protocol\":\"TCP\"}":{".":{}}}}}`)},
			changes: []Change{{"/spec/ports/0", Removed}, {"/spec/ports/1", Added}},
			manager: "kubectl-edit", second: 12,
		},
		"the owner of a whole atomic list": {
			fields:  entries{helm, kubectl(12, `{"f:spec":{"f:l":{}}}`)},
			changes: []Change{{"/spec/l/0/x", Modified}},
			manager: "kubectl-edit", second: 12,
		},
		"scaling through its subresource": {
			fields:  entries{helm, wrote("kubectl", update, "scale", 12, `{"f:spec":{"f:type":{}}}`)},
			changes: []Change{{"/spec/type", Modified}},
			manager: "kubectl", second: 12,
		},
		"the writer of an annotation through the status": {
			fields: entries{helm,
				wrote("kube-controller-manager", update, "status", 12, `{"f:metadata":{"f:annotations":{"f:n":{}}}}`)},
			changes: []Change{{"/metadata/annotations/n", Modified}},
			manager: "kube-controller-manager", second: 12,
		},
		"whoever wrote last after Helm removed a field": {
			fields: entries{helm, kubectl(12, `{"f:spec":{"f:other":{}}}`),
				wrote("kube-controller-manager", update, "status", 50, `{"f:status":{}}`)},
			changes: []Change{{"/metadata/labels/a~1b", Removed}},
			manager: "kubectl-edit", second: 12,
		},
		"nobody known removed a field when Helm wrote last": {
			fields:  entries{helm, kubectl(9, `{"f:spec":{"f:other":{}}}`)},
			changes: []Change{{"/metadata/labels/a~1b", Removed}},
		},
		"somebody under Helm's name": {
			fields: entries{wrote("helm", update, "", 30,
				`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}},"f:spec":{"f:type":{}}}`)},
			changes: []Change{{"/spec/type", Modified}},
			manager: "helm", second: 30,
		},
		"managed fields that cannot be read": {
			fields:  entries{kubectl(12, `{"f:spec"`), {Manager: "x"}, kubectl(13, `{}`), kubectl(14, `[]`)},
			changes: []Change{{"/spec/type", Modified}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := map[string]any{}
			if tc.live != "" {
				live = obj(t, tc.live)
			}
			got := Attribute(tc.fields, obj(t, service), live, tc.changes, ManagedBy(tc.fields))
			check.That(t,
				len(got) == 1 && got[0].Manager == tc.manager &&
					(tc.manager == "" || got[0].Time.Equal(seconds(tc.second))),
				"got %+v", got)
		})
	}
}

func TestEachChangeIsItsAuthors(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, metadata: {labels: {a: x, b: x}}, spec: {type: ClusterIP}}`
	helm := wrote("helm", update, "", 10, helmFields)
	kind := wrote("kubectl-patch", update, "", 12, `{"f:spec":{"f:type":{}}}`)
	label := wrote("curl", update, "", 14, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)
	sameTime := wrote("curl", update, "", 12, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)
	bystander := wrote("rancher", update, "", 16, `{"f:metadata":{"f:labels":{"f:other":{}}}}`)
	revision := wrote("kube-controller-manager", update, "", 18, `{"f:metadata":{"f:annotations":{"f:r":{}}}}`)
	kindChanged, labelChanged := Change{"/spec/type", Modified}, Change{"/metadata/labels/a", Modified}
	labelRemoved := Change{"/metadata/labels/b", Removed}
	for name, tc := range map[string]struct {
		fields  entries
		changes []Change
		want    map[string][]Change // by manager; empty for one that is not known
	}{
		"two managers, a field each": {
			entries{helm, kind, label}, []Change{labelChanged, kindChanged},
			map[string][]Change{"curl": {labelChanged}, "kubectl-patch": {kindChanged}},
		},
		"what is gone is ascribed to the last of them": {
			entries{helm, kind, label}, []Change{labelChanged, labelRemoved, kindChanged},
			map[string][]Change{"curl": {labelChanged, labelRemoved}, "kubectl-patch": {kindChanged}},
		},
		"not when both wrote in the same second": {
			entries{helm, kind, sameTime}, []Change{labelChanged, labelRemoved, kindChanged},
			map[string][]Change{"curl": {labelChanged}, "": {labelRemoved}, "kubectl-patch": {kindChanged}},
		},
		"nor to one who changed nothing else, when another wrote, too": {
			entries{helm, kind, bystander}, []Change{labelRemoved, kindChanged},
			map[string][]Change{"": {labelRemoved}, "kubectl-patch": {kindChanged}},
		},
		"nor to a controller of Kubernetes, which answers every change": {
			entries{helm, kind, revision}, []Change{labelRemoved, kindChanged},
			map[string][]Change{"kubectl-patch": {labelRemoved, kindChanged}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string][]Change{}
			for _, a := range Attribute(tc.fields, obj(t, service), map[string]any{}, tc.changes,
				ManagedBy(tc.fields)) {
				got[a.Manager] = a.Changes
			}
			check.That(t, reflect.DeepEqual(got, tc.want), "got %v, want %v", got, tc.want)
		})
	}
}

func TestAuthorsAreBounded(t *testing.T) {
	fields, labels, changes := entries{}, map[string]any{}, []Change{}
	for i := range 30 {
		name := fmt.Sprintf("l%02d", i)
		labels[name] = "x"
		fields = append(fields, wrote("m"+name, apply, "", 1, `{"f:metadata":{"f:labels":{"f:`+name+`":{}}}}`))
		changes = append(changes, Change{"/metadata/labels/" + name, Modified})
	}
	desired := map[string]any{"metadata": map[string]any{"labels": labels}}
	got := Attribute(fields, desired, desired, changes, ManagedBy(fields))
	last := got[len(got)-1]
	check.That(t, len(got) == 11 && last.Manager == "" && len(last.Changes) == 20,
		"%d authors, and %d changes of the last, %q", len(got), len(last.Changes), last.Manager)
}
