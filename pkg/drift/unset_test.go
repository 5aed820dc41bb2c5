package drift

import (
	"slices"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestUnset(t *testing.T) {
	desired := obj(t, `{apiVersion: v1, kind: Service, metadata: {labels: {a: ""}}, spec: {type: "", clusterIP: "", `+
		`publishNotReadyAddresses: false, externalName: x, ports: [{port: 80, nodePort: 0}]}}`)
	live := obj(t, `{apiVersion: v1, kind: Service, metadata: {labels: {a: b}}, spec: {type: NodePort, clusterIP: 10.0.0.1, `+
		`publishNotReadyAddresses: true, externalName: y, ports: [{port: 80, protocol: TCP, nodePort: 30000}]}}`)
	opt := Options{Schema: schemaOf(schemas(t), desired)}
	changes := Compare(desired, live, opt).Changes
	helm := wrote("helm", update, "", 1, `{"f:spec":{"f:type":{}}}`)
	for name, test := range map[string]struct {
		fields entries
		want   []string
	}{
		"no managed fields": {},
		"of no one and of Helm": {fields: entries{helm},
			want: []string{"/spec/clusterIP", "/spec/ports/0/nodePort", "/spec/type"}},
		"of a person": {fields: entries{helm, by(`{"f:spec":{"f:type":{}}}`)},
			want: []string{"/spec/clusterIP", "/spec/ports/0/nodePort"}},
	} {
		got := paths((Owner{Manager: "helm"}).Unset(test.fields, desired, live, changes, opt.Schema))
		check.That(t, slices.Equal(got, test.want), "%s: %v, want %v", name, got, test.want)
	}
}
