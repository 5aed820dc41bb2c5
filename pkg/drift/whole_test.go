package drift

import "testing"

func TestStrictMapsWithOneOwner(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, spec: {selector: {app: web`
	const policy = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: `
	selector := by(`{"f:spec":{"f:selector":{}}}`)
	for name, tc := range map[string]strictCase{
		"a key in the selector of a Service": {
			desired: service + `}}}`, live: service + `, added: x}}}`, fields: entries{selector},
			want: []string{"Added /spec/selector/added"}, without: []string{"/spec/selector/added"},
		},
		"a selector that Helm owns, too": {
			desired: service + `}}}`, live: service + `, added: x}}}`,
			fields: entries{selector, wrote("helm", apply, "", 5, `{"f:spec":{"f:selector":{}}}`)},
		},
		"a field and a key inside of a label selector": {
			desired: policy + `{matchLabels: {app: web}}}}`,
			live:    policy + `{matchLabels: {app: web, added: x}, matchExpressions: [{key: a, operator: Exists}]}}}`,
			fields:  entries{by(`{"f:spec":{"f:podSelector":{}}}`)},
			want:    []string{"Added /spec/podSelector/matchExpressions", "Added /spec/podSelector/matchLabels/added"},
			without: []string{"/spec/podSelector/matchExpressions", "/spec/podSelector/matchLabels/added"},
		},
		"a map of several owners, of which a foreign one owns nothing but the map itself": {
			desired: `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`, live: `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
			fields: entries{by(`{"f:data":{".":{}}}`)},
		},
	} {
		t.Run(name, tc.run)
	}
}
