package drift

import (
	"testing"
)

func TestMapsThatAreOneValue(t *testing.T) {
	for name, tc := range map[string]comparison{
		"a label added to the selector of a Service": {
			desired: "{apiVersion: v1, kind: Service, spec: {selector: {app: a}}}",
			live:    "{apiVersion: v1, kind: Service, spec: {selector: {app: a, rollouts-pod-template-hash: b}, type: ClusterIP}}",
		},
		"a label added to the selector of a Service, and another one changed": {
			desired: "{apiVersion: v1, kind: Service, spec: {selector: {app: a}}}",
			live:    "{apiVersion: v1, kind: Service, spec: {selector: {app: x, added: b}, type: ClusterIP}}",
			target:  "{apiVersion: v1, kind: Service, spec: {selector: {app: a}, type: ClusterIP}}",
			want:    []string{"Added /spec/selector/added", "Modified /spec/selector/app"},
		},
		"a label removed from the selector of a webhook with an expression added": {
			desired: "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, namespaceSelector: {matchLabels: {a: b}}}]}",
			live:    "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, namespaceSelector: {matchExpressions: [{key: x, operator: DoesNotExist}]}}]}",
			target:  "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, namespaceSelector: {matchLabels: {a: b}}}]}",
			want: []string{"Added /webhooks/0/namespaceSelector/matchExpressions",
				"Removed /webhooks/0/namespaceSelector/matchLabels"},
		},
		"a rule that gives more than declared": {
			desired: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
			live:    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{apiGroups: [''], resources: [pods], verbs: [get], nonResourceURLs: ['*']}]}",
			target:  "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
			want:    []string{"Added /rules/0/nonResourceURLs"},
		},
		"a label and an expression added to the selector of a NetworkPolicy": {
			desired: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: a}}}}",
			live:    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: a, b: c}, matchExpressions: [{key: x, operator: Exists}]}}}",
			target:  "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: a}}}}",
			want:    []string{"Added /spec/podSelector/matchExpressions", "Added /spec/podSelector/matchLabels/b"},
		},
		"a protocol that is not the default, and the end of a range, in a rule": {
			desired: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 80}, {port: 81}]}]}}",
			live:    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 80, protocol: UDP}, {port: 81, protocol: TCP, endPort: 90}]}]}}",
			target:  "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 80}, {port: 81}]}]}}",
			want:    []string{"Added /spec/ingress/0/ports/0/protocol", "Added /spec/ingress/0/ports/1/endPort"},
		},
		"the default protocol in a rule": {
			desired: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 80}]}], egress: [{}]}}",
			live:    "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 80, protocol: TCP}]}], egress: [{}]}}",
		},
		"an expression that a provider adds to a webhook's selector": {
			desired: "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, namespaceSelector: {matchLabels: {a: b}}}]}",
			live:    "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: x, operator: DoesNotExist}]}}]}",
		},
	} {
		t.Run(name, tc.run) // a server-side apply takes out all that is found, so it is not foreign
	}
}
