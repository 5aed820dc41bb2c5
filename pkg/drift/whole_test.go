package drift

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestStrictMapsWithOneOwner(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, spec: {selector: {app: web`
	const binding = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {matchResources: `
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
		"a key in the node selector of a RuntimeClass": {
			desired: `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, scheduling: {nodeSelector: {a: b}}}`,
			live:    `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, scheduling: {nodeSelector: {a: b, c: d}}}`,
			fields:  entries{by(`{"f:scheduling":{"f:nodeSelector":{}}}`)},
			want:    []string{"Added /scheduling/nodeSelector/c"}, without: []string{"/scheduling/nodeSelector/c"},
		},
		"a default that was changed in a list inside of an atomic map": {
			desired: binding + `{resourceRules: [{apiGroups: [a]}]}}}`,
			live:    binding + `{resourceRules: [{apiGroups: [a], scope: Cluster}], matchPolicy: Exact}}}`,
			fields:  entries{by(`{"f:spec":{"f:matchResources":{}}}`)},
			want:    []string{"Added /spec/matchResources/matchPolicy", "Modified /spec/matchResources/resourceRules"},
			without: []string{"/spec/matchResources/matchPolicy", "/spec/matchResources/resourceRules/0/scope"},
		},
		"a map of several owners, of which a foreign one owns nothing but the map itself": {
			desired: `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
			fields:  entries{by(`{"f:data":{".":{}}}`)},
		},
	} {
		t.Run(name, tc.run)
	}
}

// The API server keeps the policy of a Service after its removal, so its default has to be written.
func TestStrictGivesAServiceItsIPFamilyPolicyBack(t *testing.T) {
	fields := entries{wrote("helm", update, "", 1, strictHelm), by(`{"f:spec":{"f:ipFamilyPolicy":{}}}`)}
	for name, tc := range map[string]struct{ spec, live, want string }{
		"of one family": {"selector: {a: b}", "PreferDualStack", "SingleStack"},
		"of a headless Service without selector, which has both": {"clusterIP: None", "SingleStack", "RequireDualStack"},
		"that is the default": {"selector: {a: b}", "SingleStack", ""},
	} {
		t.Run(name, func(t *testing.T) {
			desired := obj(t, `{apiVersion: v1, kind: Service, spec: {`+tc.spec+`}}`)
			live := obj(t, `{apiVersion: v1, kind: Service, spec: {`+tc.spec+`, ipFamilyPolicy: `+tc.live+`}}`)
			got := Compare(desired, live, strictOptions(t, desired, fields))
			if tc.want == "" {
				sameChanges(t, got.Changes)
				return
			}
			sameChanges(t, got.Changes, "Added /spec/ipFamilyPolicy")
			is := at(got.Target, "spec", "ipFamilyPolicy")
			check.That(t, is == tc.want, "it becomes %v", is)
		})
	}
}
