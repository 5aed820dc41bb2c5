package drift

import "testing"

func TestStrictKeepsWhoeverOwnsIt(t *testing.T) {
	for name, tc := range map[string]strictCase{
		"what identifies an object, status, and what the server owns in metadata": {
			desired: `{apiVersion: v1, kind: Pod, metadata: {name: x}}`,
			live:    `{apiVersion: v1, kind: Pod, metadata: {name: x, uid: u, generateName: y, deletionGracePeriodSeconds: 1}, status: {phase: Running}}`,
			fields: entries{
				by(`{"f:apiVersion":{},"f:kind":{},"f:status":{"f:phase":{}},"f:metadata":{"f:name":{},"f:uid":{},"f:generateName":{},"f:deletionGracePeriodSeconds":{}}}`),
			},
		},
		"finalizers of Kubernetes, and no others": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [foregroundDeletion, kubernetes.io/pvc-protection, service.kubernetes.io/load-balancer-cleanup, mykubernetes.io/x, x.io/kubernetes.io]}}`,
			fields: entries{by(`{"f:metadata":{"f:finalizers":{".":{},"v:\"foregroundDeletion\"":{},"v:\"kubernetes.io/pvc-protection\"":{},` +
				`"v:\"service.kubernetes.io/load-balancer-cleanup\"":{},"v:\"mykubernetes.io/x\"":{},"v:\"x.io/kubernetes.io\"":{}}}}`)},
			want: []string{"Added /metadata/finalizers/3", "Added /metadata/finalizers/4"},
			with: []string{"/metadata/finalizers/2"}, without: []string{"/metadata/finalizers/3"},
		},
		"one foreign finalizer beside a declared one": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [a.io/b]}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [c.io/d, a.io/b]}}`,
			fields:  entries{by(`{"f:metadata":{"f:finalizers":{"v:\"c.io/d\"":{},"v:\"a.io/b\"":{}}}}`)},
			want:    []string{"Added /metadata/finalizers/0"},
		},
		"all foreign finalizers": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [a.io/b]}}`,
			fields:  entries{by(`{"f:metadata":{"f:finalizers":{".":{},"v:\"a.io/b\"":{}}}}`)},
			want:    []string{"Added /metadata/finalizers"},
		},
		"an injected caBundle, but not an added webhook with one": {
			desired: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {service: {name: a}}}]}`,
			live:    `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {service: {name: a}, caBundle: x}}, {name: b, clientConfig: {caBundle: x}}]}`,
			fields: entries{by(`{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:caBundle":{}}},` +
				`"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:clientConfig":{".":{},"f:caBundle":{}}}}}`)},
			want: []string{"Added /webhooks/1"},
			with: []string{"/webhooks/0/clientConfig/caBundle"},
		},
		"the allocations of a Service, but not its type": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {type: NodePort, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, loadBalancerIP: 1.2.3.4, ports: [{port: 80, protocol: TCP, nodePort: 30000}]}}`,
			fields: entries{
				by(`{"f:spec":{"f:type":{},"f:clusterIP":{},"f:clusterIPs":{},"f:ipFamilies":{},"f:ipFamilyPolicy":{},"f:loadBalancerIP":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:nodePort":{}}}}}`),
			},
			want: []string{"Added /spec/type"},
			with: []string{"/spec/clusterIP", "/spec/ports/0/nodePort"},
		},
		"the volume of a claim": {
			desired: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {}}}`,
			live:    `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {pv.kubernetes.io/bind-completed: "yes", x: y}}, spec: {resources: {}, volumeName: v}}`,
			fields: entries{
				by(`{"f:metadata":{"f:annotations":{".":{},"f:pv.kubernetes.io/bind-completed":{},"f:x":{}}},"f:spec":{"f:volumeName":{}}}`),
			},
			want: []string{"Added /metadata/annotations/x"},
		},
		"the node of a pod": {
			desired: `{apiVersion: v1, kind: Pod, spec: {}}`,
			live:    `{apiVersion: v1, kind: Pod, spec: {nodeName: n, tolerations: [{key: a}]}}`,
			fields:  entries{by(`{"f:spec":{"f:nodeName":{},"f:tolerations":{}}}`)},
		},
		"the node of a pod template can go": {
			desired: `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {}}}}`,
			live:    `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {nodeName: n}}}}`,
			fields:  entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:nodeName":{}}}}}`)},
			want:    []string{"Added /spec/template/spec/nodeName"},
		},
		"the rules of an aggregated role": {
			desired: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}`,
			live:    `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: [{verbs: [get]}]}`,
			fields:  entries{by(`{"f:rules":{}}`)},
		},
		"not the rules of another role": {
			desired: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}`,
			live:    `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [get]}]}`,
			fields:  entries{by(`{"f:rules":{}}`)},
			want:    []string{"Added /rules"},
		},
		"who leads": {
			desired: `{apiVersion: coordination.k8s.io/v1, kind: Lease}`,
			live:    `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {holderIdentity: a}}`,
			fields:  entries{by(`{"f:spec":{"f:holderIdentity":{}}}`)},
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestStrictIgnores(t *testing.T) {
	const deploy = `apiVersion: apps/v1, kind: Deployment`
	for name, tc := range map[string]strictCase{
		"a field": {
			desired: `{` + deploy + `, spec: {}}`, live: `{` + deploy + `, spec: {replicas: 3, paused: true}}`,
			fields: entries{wrote("x", update, "scale", 5, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`)},
			ignore: ignoring("/spec/replicas"),
			want:   []string{"Added /spec/paused"},
		},
		"a field in a map that goes otherwise": {
			desired: `{apiVersion: v1, kind: ConfigMap}`,
			live:    `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
			fields:  entries{by(`{"f:data":{".":{},"f:a":{},"f:b":{}}}`)},
			ignore:  ignoring("/data/a"),
			want:    []string{"Added /data/b"},
			with:    []string{"/data/a"},
		},
		"an added element, by its index in the live list": {
			desired: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {containers: [{name: b}, {name: a}, {name: c}], volumes: [{name: d}, {name: e}]}}}}`,
			fields: entries{by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{}},"k:{\"name\":\"c\"}":{".":{}}},` +
				`"f:volumes":{".":{},"k:{\"name\":\"d\"}":{".":{}},"k:{\"name\":\"e\"}":{".":{}}}}}}}`)},
			ignore: ignoring("/spec/template/spec/containers/0", "/spec/template/spec/volumes/0"),
			want:   []string{"Added /spec/template/spec/containers/2", "Added /spec/template/spec/volumes/1"},
		},
		"not what is inside of an added element": {
			desired: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}]}}}}`,
			live:    `{` + deploy + `, spec: {template: {spec: {containers: [{name: a, image: b}, {name: b, image: b}]}}}}`,
			fields: entries{
				by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{}},"k:{\"name\":\"b\"}":{".":{},"f:image":{}}}}}}}`),
			},
			ignore: ignoring("/spec/template/spec/containers/*/image"),
			want:   []string{"Added /spec/template/spec/containers/1"},
			with:   []string{"/spec/template/spec/containers/0/image"},
		},
		"all that is in a declared field": {
			desired: `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
			fields:  entries{by(`{"f:data":{"f:b":{}}}`)},
			ignore:  ignoring("/data"),
		},
	} {
		t.Run(name, tc.run)
	}
}
