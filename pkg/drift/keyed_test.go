package drift

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Helm 3 pairs ports of one number by their order.
func TestOrderOfPortsOfOneNumber(t *testing.T) {
	const declared = "{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}"
	desired := obj(t, "{apiVersion: v1, kind: Service, spec: {ports: ["+declared+"]}}")
	s := schemaOf(schemas(t), desired)
	for live, want := range map[string][]string{
		declared: nil,
		"{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}, {name: http, port: 80}": nil,
		"{name: http, port: 80}, {name: dns-tcp, port: 53, protocol: TCP}, {name: dns, port: 53, protocol: UDP}": {
			"Modified /spec/ports",
		},
	} {
		got := Compare(desired, obj(t, "{apiVersion: v1, kind: Service, spec: {ports: ["+live+"]}}"), Options{Schema: s})
		sameChanges(t, got.Changes, want...)
		if want != nil && !deepEqual(got.Target, desired) {
			t.Errorf("target is %v", got.Target)
		}
	}
	got := Compare(
		desired, obj(t,
			"{apiVersion: v1, kind: Service, spec: {ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: TCP}, {name: dns-tcp, port: 53, protocol: UDP}]}}"), Options{Schema: s},
	)
	check.That(t, deepEqual(got.Target, desired), "after an exchange of protocols the target is %v", got.Target)
}

// Elements that share a key move together when the list is put in order: the first of them is compared, before and
// after.
func TestSeveralLiveElementsOfOneKeyMoveTogether(t *testing.T) {
	desired := obj(t, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [
		{name: c}, {name: b}, {name: a}]}}`)
	live := obj(t, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [
		{name: a, image: first}, {name: a, image: second}, {name: b}, {name: c}]}}`)
	opt := Options{Schema: schemaOf(schemas(t), desired)}
	got := Compare(desired, live, opt)
	sameChanges(t, got.Changes, "Modified /spec/containers")
	sameChanges(t, Compare(desired, got.Target, opt).Changes)
}
