package drift

import (
	"testing"
)

func TestWhatAChangeBroughtAlongGoesWithIt(t *testing.T) {
	const balanced = "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: "
	const template = "spec: {template: {metadata: {labels: {app: a, more: b}}}}}"
	for name, tc := range map[string]comparison{
		"node ports were allocated": {
			foreign: true,
			desired: balanced + "[{port: 80}, {port: 443}]}}",
			live: "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: true, " +
				"ports: [{port: 80, nodePort: 30001}, {port: 443, nodePort: 30002}]}}",
			target: balanced + "[{port: 80}, {port: 443}]}}",
			want: []string{"Modified /spec/allocateLoadBalancerNodePorts", "Added /spec/ports/0/nodePort",
				"Added /spec/ports/1/nodePort"},
		},
		"the type was changed, and one node port is declared": {
			foreign: true,
			desired: balanced + "[{port: 80, nodePort: 30001}, {port: 443}]}}",
			live:    "{apiVersion: v1, kind: Service, spec: {type: NodePort, ports: [{port: 80, nodePort: 30001}, {port: 443, nodePort: 30002}]}}",
			target:  balanced + "[{port: 80, nodePort: 30001}, {port: 443}]}}",
			want:    []string{"Removed /spec/allocateLoadBalancerNodePorts", "Added /spec/ports/1/nodePort", "Modified /spec/type"},
		},
		"a node port that somebody chose, beside another change": {
			desired: balanced + "[{port: 80}], sessionAffinity: None}}",
			live:    balanced + "[{port: 80, nodePort: 30001}], sessionAffinity: ClientIP}}",
			target:  balanced + "[{port: 80, nodePort: 30001}], sessionAffinity: None}}",
			want:    []string{"Modified /spec/sessionAffinity"},
		},
		"the type was changed to a name": {
			foreign: true,
			desired: "{apiVersion: v1, kind: Service, spec: {type: ClusterIP, ports: [{port: 80}]}}",
			live:    "{apiVersion: v1, kind: Service, spec: {type: ExternalName, externalName: a.example.com, ports: [{port: 80}]}}",
			target:  "{apiVersion: v1, kind: Service, spec: {type: ClusterIP, ports: [{port: 80}]}}",
			want:    []string{"Added /spec/externalName", "Modified /spec/type"},
		},
		"the rules were changed by an aggregation": {
			foreign: true,
			desired: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [get]}]}",
			live:    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: null, aggregationRule: {clusterRoleSelectors: [{}]}}",
			target:  "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [get]}]}",
			want:    []string{"Added /aggregationRule", "Removed /rules"},
		},
		"the rules were aggregated by the manifest": {
			desired: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [get]}], aggregationRule: {}}",
			live:    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [put]}], aggregationRule: {}}",
			target:  "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [get]}], aggregationRule: {}}",
			want:    []string{"Modified /rules/0/verbs"},
		},
		"all labels were removed": {
			foreign: true,
			desired: "{apiVersion: v1, kind: ReplicationController, metadata: {labels: {own: x}}, " + template,
			live:    "{apiVersion: v1, kind: ReplicationController, metadata: {labels: {app: a, more: b}}, " + template,
			target:  "{apiVersion: v1, kind: ReplicationController, metadata: {labels: {own: x}}, " + template,
			want:    []string{"Added /metadata/labels/app", "Added /metadata/labels/more", "Removed /metadata/labels/own"},
		},
		"a label was removed, and others had been added": {
			desired: "{apiVersion: v1, kind: ReplicationController, metadata: {labels: {own: x}}, " + template,
			live:    "{apiVersion: v1, kind: ReplicationController, metadata: {labels: {app: a, other: b}}, " + template,
			target:  "{apiVersion: v1, kind: ReplicationController, metadata: {labels: {app: a, other: b, own: x}}, " + template,
			want:    []string{"Removed /metadata/labels/own"},
		},
		"the selector was removed": {
			desired: "{apiVersion: v1, kind: ReplicationController, spec: {selector: {app: a}}}",
			live:    "{apiVersion: v1, kind: ReplicationController, spec: {selector: {app: a, more: b}}}",
			target:  "{apiVersion: v1, kind: ReplicationController, spec: {selector: {app: a}}}",
			want:    []string{"Added /spec/selector/more"},
		},
	} {
		t.Run(name, tc.run)
	}
}
