package fidelity

import (
	"strings"
	"testing"
)

func TestShapes_Objects(t *testing.T) {
	withstand(t, func(w *fixture) []shape {
		hooks := hooks
		hooks.object += "-" + w.Apps
		return []shape{ports, balanced, data, large, credentials, metadataOnly, account, role, binding, claim, ingress,
			policy, budgetByNumber, budgetByShare, autoscaler, autoscalerV1, lease, job, hooks}
	})
}

var ports = shape{
	object: "services/ports",
	manifest: `
apiVersion: v1
kind: Service
metadata: {name: ports, annotations: {note: NOTE}, creationTimestamp: null}
spec:
  type: ClusterIP
  sessionAffinity: None
  selector: {app: ports}
  externalIPs: [192.0.2.1, 192.0.2.2]
  ports:
  - {name: http, port: 80, targetPort: 8080, protocol: TCP}
  - {name: named, port: 81, targetPort: web}
  - {name: dns, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53, protocol: TCP}
status: {loadBalancer: {}}
`,
	edits: []edit{
		setting("number", "/spec/ports/0/port", "8080"),
		setting("number of a port with defaults", "/spec/ports/1/port", "82"),
		setting("name", "/spec/ports/0/name", `"evil"`),
		{name: "number and name", patch: ops(set("/spec/ports/0/port", "8080"), set("/spec/ports/0/name", `"evil"`))},
		{name: "all numbers", patch: ops(set("/spec/ports/0/port", "90"), set("/spec/ports/1/port", "91"),
			set("/spec/ports/2/port", "92"), set("/spec/ports/3/port", "93"))},
		setting("one of two protocols on a number", "/spec/ports/2/port", "54"),
		removing("one of two protocols on a number", "/spec/ports/3"),
		{name: "two protocols exchanged", patch: ops(set("/spec/ports/2/protocol", `"TCP"`),
			set("/spec/ports/3/protocol", `"UDP"`))},
		setting("protocol", "/spec/ports/0/protocol", `"UDP"`),
		setting("target number", "/spec/ports/0/targetPort", "8081"),
		setting("target number to name", "/spec/ports/0/targetPort", `"web"`),
		setting("target name to number", "/spec/ports/1/targetPort", "8080"),
		removing("port", "/spec/ports/1"),
		{name: "target, which is then defaulted", patch: ops(del("/spec/ports/0/targetPort"))},
		setting("selector", "/spec/selector", `{"app":"evil"}`),
		{name: "selector value", patch: `{"spec":{"selector":{"app":"evil"}}}`},
		removing("selector", "/spec/selector"),
		setting("external address", "/spec/externalIPs/0", `"192.0.2.66"`),
		removing("external addresses", "/spec/externalIPs"),
		{name: "affinity", patch: `{"spec":{"sessionAffinity":"ClientIP"}}`, owns: true},
		{name: "type", patch: `{"spec":{"type":"NodePort"}}`},
		{name: "type with further fields", patch: `{"spec":{"type":"LoadBalancer"}}`, owns: true},
	},
}

// balanced has fields from which the API server derives others.
var balanced = shape{
	object: "services/balanced",
	manifest: `
apiVersion: v1
kind: Service
metadata: {name: balanced, annotations: {note: NOTE}}
spec:
  type: LoadBalancer
  sessionAffinity: ClientIP
  externalTrafficPolicy: Local
  loadBalancerSourceRanges: [192.0.2.0/24]
  selector: {app: balanced}
  ports: [{name: http, port: 80}, {name: https, port: 443}]
`,
	edits: []edit{
		setting("port", "/spec/ports/0/port", "81"),
		setting("name of a port", "/spec/ports/0/name", `"evil"`),
		removing("port", "/spec/ports/0"),
		setting("traffic policy", "/spec/externalTrafficPolicy", `"Cluster"`),
		setting("source range", "/spec/loadBalancerSourceRanges/0", `"0.0.0.0/0"`),
		setting("protocol that was defaulted", "/spec/ports/1/protocol", `"UDP"`),
	},
}

var data = shape{
	object: "configmaps/data",
	manifest: `
apiVersion: v1
kind: ConfigMap
metadata:
  name: data
  annotations: {note: NOTE, example.com/with_under-score.and.dots: x, "empty": ""}
  labels: {a.b.example.com/c_d.e: x}
  finalizers: [example.com/one, example.com/two]
data: {key: declared, with.dots: x, _under: x, empty: "", "true": "yes", "8080": number, multi: "one\ntwo\n", spaces: "  x  "}
binaryData: {blob: "AAECAwT/\n/v0=", other: c29tZQ==}
`,
	edits: []edit{
		{name: "key", patch: `{"data":{"key":"evil"}}`},
		{name: "key with dots", patch: `{"data":{"with.dots":"evil"}}`},
		{name: "key with dots removed", patch: `{"data":{"with.dots":null}}`},
		{name: "empty value", patch: `{"data":{"empty":"evil"}}`},
		{name: "empty value removed", patch: `{"data":{"empty":null}}`},
		{name: "key that looks like a boolean", patch: `{"data":{"true":"no"}}`},
		{name: "key that looks like a number", patch: `{"data":{"8080":null}}`},
		{name: "white space", patch: `{"data":{"spaces":"x"}}`},
		{name: "line", patch: `{"data":{"multi":"one\n"}}`},
		{name: "all data", patch: `{"data":null}`},
		{name: "binary data", patch: `{"binaryData":{"blob":"AAAA"}}`},
		{name: "binary data removed", patch: `{"binaryData":{"blob":null}}`},
		{name: "binary data to text", patch: `{"binaryData":{"other":null},"data":{"other":"evil"}}`},
		{name: "annotation with a slash", patch: `{"metadata":{"annotations":{"example.com/with_under-score.and.dots":"evil"}}}`},
		{name: "empty annotation", patch: `{"metadata":{"annotations":{"empty":null}}}`},
		{name: "label with a slash", patch: `{"metadata":{"labels":{"a.b.example.com/c_d.e":null}}}`},
		{name: "Helm's label and content", patch: `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}},"data":{"key":"evil"}}`},
		{name: "Helm's annotations and content", patch: `{"metadata":{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":"evil"}},"data":null}`},
		{name: "one finalizer", patch: `{"metadata":{"finalizers":["example.com/two"]}}`},
		{name: "all finalizers", patch: `{"metadata":{"finalizers":null}}`},
		{name: "applied by force", kind: "application/apply-patch+yaml",
			patch: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: data}\ndata: {key: evil}\n"},
		{name: "further key", patch: ops(add("/data/further", `"x"`), set("/data/key", `"evil"`)),
			stays: ops(add("/data/further", `"x"`))},
	},
}

var large = shape{
	object: "configmaps/large",
	manifest: `
apiVersion: v1
kind: ConfigMap
metadata: {name: large, annotations: {note: NOTE}}
data: {small: declared, large: "{{ repeat 90000 "0123456789" }}"}
`,
	edits: []edit{
		{name: "small value beside it", patch: `{"data":{"small":"evil"}}`},
		{name: "large value", patch: `{"data":{"large":"` + strings.Repeat("0123456789", 50000) + `"}}`},
		{name: "large value removed", patch: `{"data":{"large":null}}`},
	},
}

var credentials = shape{
	object: "secrets/credentials",
	after:  map[string]any{"data.turns": "c2Vjb25k", "data.password": "c3dvcmRmaXNo"},
	manifest: `
apiVersion: v1
kind: Secret
metadata: {name: credentials, annotations: {note: NOTE}}
type: Opaque
stringData: {password: swordfish, both: text, turns: NOTE}
data:
  both: b3RoZXI=
  empty: ""
  wrapped: |
    c3dvcmRmaXNoIHN3b3JkZmlzaCBzd29yZGZpc2gg
    c3dvcmRmaXNo
`,
	edits: []edit{
		{name: "what came from stringData", patch: `{"data":{"password":"ZXZpbA=="}}`, folded: true},
		{name: "by stringData", patch: `{"stringData":{"password":"evil","wrapped":"evil"}}`},
		{name: "what an upgrade changes", patch: `{"data":{"turns":"ZXZpbA=="}}`, folded: true},
		{name: "what is in both", patch: `{"data":{"both":"b3RoZXI="}}`, folded: true},
		{name: "base64 with line breaks", patch: `{"data":{"wrapped":"ZXZpbA=="}}`},
		{name: "empty value", patch: `{"data":{"empty":"ZXZpbA=="}}`},
		{name: "value removed", patch: `{"data":{"password":null}}`, folded: true},
		{name: "all values", patch: `{"data":null}`, folded: true},
	},
}

var metadataOnly = shape{
	object:   "configmaps/metadata",
	manifest: "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: metadata, labels: {a: b}, annotations: {note: NOTE}}\n",
	edits: []edit{
		{name: "label", patch: `{"metadata":{"labels":{"a":"evil"}}}`},
		{name: "labels", patch: `{"metadata":{"labels":null}}`},
		{name: "note", patch: `{"metadata":{"annotations":{"note":"evil"}}}`},
	},
}

var account = shape{
	object: "serviceaccounts/account",
	manifest: `
apiVersion: v1
kind: ServiceAccount
metadata: {name: account, annotations: {note: NOTE}}
automountServiceAccountToken: false
imagePullSecrets: [{name: one}, {name: two}]
secrets: [{name: three}, {name: four}]
`,
	edits: []edit{
		setting("pull secret", "/imagePullSecrets/0/name", `"evil"`),
		removing("pull secret", "/imagePullSecrets/1"),
		setting("secret", "/secrets/0/name", `"evil"`),
		removing("secret", "/secrets/1"),
		removing("all secrets", "/secrets"),
		setting("token", "/automountServiceAccountToken", "true"),
		removing("token", "/automountServiceAccountToken"),
	},
}
