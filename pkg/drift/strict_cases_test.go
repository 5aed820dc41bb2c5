package drift

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type entries = []metav1.ManagedFieldsEntry

func TestStrictOwners(t *testing.T) {
	const desired = `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {app: a}}, data: {a: "1"}}`
	const live = `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {app: a, team: b}}, data: {a: "1"}}`
	const team = `{"f:metadata":{"f:labels":{"f:team":{}}}}`
	gone := strictCase{desired: desired, live: live, want: []string{"Added /metadata/labels/team"},
		without: []string{"/metadata/labels/team"}}
	stays := strictCase{desired: desired, live: live}
	for name, tc := range map[string]struct {
		strictCase
		fields entries
		keep   func(string) bool
	}{
		"a foreign manager by update":             {gone, entries{by(team)}, nil},
		"a foreign manager by apply":              {gone, entries{wrote("x", apply, "", 5, team)}, nil},
		"a foreign manager through a subresource": {gone, entries{wrote("x", update, "scale", 5, team)}, nil},
		"two foreign managers":                    {gone, entries{by(team), wrote("y", apply, "", 6, team)}, nil},
		"a manager that a Keep list does not name": {gone, entries{by(team)},
			func(m string) bool { return m == "y" }},
		"a foreign manager that is older than Helm": {gone, entries{wrote("x", update, "", 0, team)}, nil},
		"one who applied all of the object, as it was": {gone,
			entries{wrote("kubectl", apply, "", 5,
				`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}},"f:labels":{"f:app":{},"f:app.kubernetes.io/managed-by":{},"f:team":{}}}}`)}, nil},
		"a foreign manager, and one who owns other things": {gone,
			entries{by(team), wrote("kubelet", update, "", 5, `{"f:metadata":{"f:labels":{"f:other":{}}}}`)}, nil},
		"a manager that the Keep list names": {stays, entries{by(team)},
			func(m string) bool { return m == "x" }},
		"nobody, without managed fields": {stays, nil, nil},
		"nobody: fields of before the server tracked them": {stays,
			entries{wrote("before-first-apply", update, "", 5, team)}, nil},
		"nobody: a client without a name": {stays,
			entries{wrote("unknown", update, "", 5, team), wrote("", update, "", 5, team)}, nil},
		"a foreign manager and nobody":   {stays, entries{by(team), wrote("before-first-apply", update, "", 5, team)}, nil},
		"Helm under its other operation": {stays, entries{wrote("helm", apply, "", 5, team)}, nil},
		"Helm and a foreign manager":     {stays, entries{wrote("helm", apply, "", 5, team), by(team)}, nil},
		"another tool with Helm inside, of earlier": {stays,
			entries{wrote("helm-controller", apply, "", 0,
				`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}},"f:labels":{"f:team":{}}}}`)}, nil},
		"helm-locker":                {stays, entries{wrote("helm-locker", update, "", 5, team)}, nil},
		"a controller of Kubernetes": {stays, entries{wrote("kube-controller-manager", update, "", 5, team)}, nil},
		"a controller of Kubernetes and a foreign manager": {stays,
			entries{wrote("kube-controller-manager", update, "", 5, team), by(team)}, nil},
		"the controllers of a cloud":           {stays, entries{wrote("aws-cloud-controller-manager", update, "", 5, team)}, nil},
		"a foreign manager through the status": {stays, entries{wrote("x", update, "status", 5, team)}, nil},
		"a foreign manager whose fields cannot be read": {stays,
			entries{by(`{"f:metadata":`), by(`[]`), by(`{"k:":{}}`), {Manager: "x"}}, nil},
		"a keeper whose fields cannot be read": {stays,
			entries{by(team), wrote("kubelet", update, "", 5, `{"f:metadata"`)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.strictCase.fields, tc.strictCase.keep = tc.fields, tc.keep
			tc.run(t)
		})
	}
}

func TestStrictShapes(t *testing.T) {
	const deploy = `apiVersion: apps/v1, kind: Deployment`
	for name, tc := range map[string]strictCase{
		"a map that a foreign manager made goes as a whole": {
			desired: `{` + deploy + `, spec: {template: {spec: {}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {nodeSelector: {a: b}, securityContext: {runAsUser: 0, sysctls: [{name: a}]}}}}}`,
			fields: entries{
				by(`{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{},"f:securityContext":{".":{},"f:runAsUser":{},"f:sysctls":{".":{},"k:{\"name\":\"a\"}":{}}}}}}}`),
			},
			want: []string{"Added /spec/template/spec/nodeSelector", "Added /spec/template/spec/securityContext"},
			with: []string{"/spec/template/spec"},
		},
		"of a map that a foreign manager made and a controller wrote to, only the foreign fields go": {
			desired: `{` + deploy + `, spec: {template: {metadata: {labels: {a: b}}}}}`,
			live:    `{` + deploy + `, spec: {template: {metadata: {labels: {a: b}, annotations: {a: "1", b: "2"}}}}}`,
			fields: entries{by(`{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:a":{},"f:b":{}}}}}}`),
				wrote("kubelet", update, "", 6, `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:b":{}}}}}}`)},
			want: []string{"Added /spec/template/metadata/annotations/a"},
			with: []string{"/spec/template/metadata/annotations/b"},
		},
		"a map goes with the last foreign field when its maker is foreign": {
			desired: `{` + deploy + `, spec: {template: {metadata: {}}}}`,
			live:    `{` + deploy + `, spec: {template: {metadata: {annotations: {a: "1"}}}}}`,
			fields: entries{by(`{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:a":{}}}}}}`),
				wrote("kubelet", update, "", 6, `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:gone":{}}}}}}`)},
			want: []string{"Added /spec/template/metadata/annotations"},
		},
		"a map that somebody else made stays, empty": {
			desired: `{` + deploy + `, spec: {template: {spec: {}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {securityContext: {runAsUser: 0}}}}}`,
			fields:  entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:securityContext":{"f:runAsUser":{}}}}}}`)},
			want:    []string{"Added /spec/template/spec/securityContext/runAsUser"},
			with:    []string{"/spec/template/spec/securityContext"},
		},
		"a field in an empty declared map": {
			desired: `{` + deploy + `, spec: {template: {spec: {volumes: [{name: a, emptyDir: {}}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {volumes: [{name: a, emptyDir: {medium: Memory}}]}}}}`,
			fields: entries{
				by(`{"f:spec":{"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"a\"}":{"f:emptyDir":{"f:medium":{}}}}}}}}`),
			},
			want: []string{"Added /spec/template/spec/volumes/0/emptyDir/medium"},
		},
		"a field that others own although it is not there": {
			desired: `{` + deploy + `, spec: {}}`, live: `{` + deploy + `, spec: {}}`,
			fields: entries{by(`{"f:spec":{"f:paused":{},"f:strategy":{"f:type":{}}}}`)},
		},
		"the index of an added element is that of the live list, of a declared one that of the desired list": {
			desired: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}, {name: b, env: [{name: A, value: "1"}]}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {containers: [{name: side}, {name: a}, {name: b, env: [{name: B, value: "1"}, {name: A, value: "1"}, {name: C, value: "1"}]}]}}}}`,
			fields: entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"side\"}":{".":{},"f:name":{}},` +
				`"k:{\"name\":\"b\"}":{"f:env":{"k:{\"name\":\"B\"}":{".":{},"f:name":{}},"k:{\"name\":\"C\"}":{".":{},"f:name":{}}}}}}}}}`)},
			want: []string{"Added /spec/template/spec/containers/0", "Added /spec/template/spec/containers/1/env/0",
				"Added /spec/template/spec/containers/1/env/2"},
		},
		"an addition is found beside a declared field that was changed, and a tampered element is found once": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{name: http, port: 80}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {externalIPs: [1.2.3.4], ports: [{name: http, port: 81, protocol: TCP, nodePort: 30000}, {name: x, port: 82, protocol: TCP}]}}`,
			fields: entries{by(`{"f:spec":{"f:externalIPs":{},"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:name":{},"f:nodePort":{},"f:protocol":{}},` +
				`"k:{\"port\":82,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:name":{},"f:protocol":{}}}}}`)},
			want: []string{"Added /spec/externalIPs", "Added /spec/ports/0", "Removed /spec/ports/0", "Added /spec/ports/1"},
			with: []string{"/spec/ports/0/nodePort"},
		},
		"an element in which a controller owns something stays as a whole": {
			desired: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}, {name: b, image: i, tty: true}]}}}}`,
			fields: entries{by(
				`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:tty":{}}}}}}}`,
			), wrote("kubelet", update, "", 6,
				`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{"f:image":{}}}}}}}`)},
		},
		"the merge key of a declared element stays, even a defaulted one": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP, appProtocol: x}]}}`,
			fields: entries{
				by(`{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:appProtocol":{}}}}}`),
			},
			want: []string{"Added /spec/ports/0/appProtocol"},
		},
		"a list with elements that share a key, as a whole": {
			desired: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "1"}]}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {containers: [{name: a, env: [{name: A, value: "1", x: y}, {name: A, value: "1"}]}]}}}}`,
			fields: entries{
				by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:env":{"k:{\"name\":\"A\"}":{"f:x":{}}}}}}}}}`),
			},
			want: []string{"Modified /spec/template/spec/containers/0/env"},
		},
		"a field inside of an atomic list": {
			desired: `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a, operator: Exists}]}}}}`,
			fields:  entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`)},
			want:    []string{"Modified /spec/template/spec/tolerations"},
			without: []string{"/spec/template/spec/tolerations/0/operator"},
		},
		"an atomic list that somebody else wrote as it is declared": {
			desired: `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a}]}}}}`,
			fields:  entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`)},
		},
		"a field inside of an atomic list that Helm owns, too": {
			desired: `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a, operator: Exists}]}}}}`,
			fields: entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`),
				wrote("helm", apply, "", 5, `{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`)},
		},
		"a field inside of an element of a list that a server-side apply merges": {
			desired: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a, resources: {claims: [{name: x}]}}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {containers: [{name: a, resources: {claims: [{name: x, request: y}]}}]}}}}`,
			fields: entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":{"f:claims":` +
				`{"k:{\"name\":\"x\"}":{"f:request":{}}}}}}}}}}`)},
			want:    []string{"Modified /spec/template/spec/containers/0/resources/claims"},
			without: []string{"/spec/template/spec/containers/0/resources/claims/0/request"},
		},
		"an added atomic list": {
			desired: `{` + deploy + `, spec: {template: {spec: {}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a, operator: Exists}]}}}}`,
			fields:  entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`)},
			want:    []string{"Added /spec/template/spec/tolerations"},
		},
		"an element of a list of a kind whose schema is not known": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {a: {}}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {a: {l: [{name: a}, {name: b}]}}}`,
			fields: entries{by(`{"f:spec":{"f:a":{"f:l":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}}`),
				wrote("kubelet", update, "", 6, `{"f:spec":{"f:a":{"f:l":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}}`)},
			want: []string{"Added /spec/a/l/0"},
			with: []string{"/spec/a/l/0"},
		},
		"a field whose key has slashes and tildes": {
			desired: `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, data: {a: b, "x~/y": c}}`,
			fields:  entries{by(`{"f:data":{"f:x~/y":{}}}`)},
			want:    []string{"Added /data/x~0~1y"},
		},
		"a field that replaced a declared one": {
			desired: `{` + deploy + `, spec: {template: {spec: {volumes: [{name: a, emptyDir: {}}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {volumes: [{name: a, hostPath: {path: /}}]}}}}`,
			fields: entries{
				by(`{"f:spec":{"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"a\"}":{"f:hostPath":{".":{},"f:path":{}}}}}}}}`),
			},
			want: []string{"Removed /spec/template/spec/volumes/0/emptyDir", "Added /spec/template/spec/volumes/0/hostPath"},
		},
	} {
		t.Run(name, tc.run)
	}
}
