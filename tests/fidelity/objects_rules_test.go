package fidelity

var role = shape{
	object: "roles/role",
	manifest: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: role, annotations: {note: NOTE}}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list], resourceNames: []}
- {apiGroups: [apps], resources: [deployments], verbs: [get]}
`,
	edits: []edit{
		setting("verb", "/rules/0/verbs/0", `"delete"`),
		{name: "further verb", patch: ops(add("/rules/1/verbs/-", `"delete"`))},
		{name: "further rule", patch: ops(add("/rules/-", `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`))},
		{name: "names", patch: ops(add("/rules/0/resourceNames", `["one"]`))},
		removing("rule", "/rules/0"),
		removing("all rules", "/rules"),
		{name: "order of rules", patch: ops(move("/rules/0", "/rules/1"))},
	},
}

var binding = shape{
	object: "rolebindings/binding",
	manifest: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: binding, annotations: {note: NOTE}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: role}
subjects: [{kind: ServiceAccount, name: account, namespace: "{{ .Release.Namespace }}"}, {kind: User, name: someone, apiGroup: rbac.authorization.k8s.io}]
`,
	edits: []edit{
		setting("subject", "/subjects/0/name", `"evil"`),
		{name: "further subject", patch: ops(add("/subjects/-",
			`{"kind":"User","name":"evil","apiGroup":"rbac.authorization.k8s.io"}`))},
		removing("subject", "/subjects/1"),
		removing("all subjects", "/subjects"),
	},
}

var claim = shape{
	object: "persistentvolumeclaims/claim",
	manifest: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim, annotations: {note: NOTE}, labels: {a: b}}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1024Mi}}}
`,
	edits: []edit{{name: "label", patch: `{"metadata":{"labels":{"a":"evil"}}}`}},
}

var ingress = shape{
	object: "ingresses/ingress",
	manifest: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ingress, annotations: {note: NOTE}}
spec:
  tls: [{hosts: [one.example.com], secretName: one}]
  rules:
  - host: one.example.com
    http:
      paths:
      - {path: /a, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}
      - {path: /, pathType: Prefix, backend: {service: {name: b, port: {name: http}}}}
  - host: two.example.com
    http: {paths: [{path: /, pathType: ImplementationSpecific, backend: {service: {name: c, port: {number: 80}}}}]}
`,
	edits: []edit{
		setting("host", "/spec/rules/0/host", `"evil.example.com"`),
		setting("path", "/spec/rules/0/http/paths/0/path", `"/evil"`),
		{name: "order of paths", patch: ops(move("/spec/rules/0/http/paths/0", "/spec/rules/0/http/paths/1"))},
		{name: "order of rules", patch: ops(move("/spec/rules/0", "/spec/rules/1"))},
		setting("number to name", "/spec/rules/0/http/paths/0/backend/service/port", `{"name":"http"}`),
		setting("name to number", "/spec/rules/0/http/paths/1/backend/service/port", `{"number":80}`),
		setting("backend", "/spec/rules/0/http/paths/0/backend/service/name", `"evil"`),
		removing("rule", "/spec/rules/1"),
		{name: "further rule", patch: ops(add("/spec/rules/-", `{"host":"evil.example.com"}`))},
		removing("tls", "/spec/tls"),
		setting("host of tls", "/spec/tls/0/hosts/0", `"evil.example.com"`),
	},
}

var policy = shape{
	object: "networkpolicies/policy",
	manifest: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy, annotations: {note: NOTE}}
spec:
  podSelector: {matchLabels: {app: a}}
  policyTypes: [Ingress, Egress]
  ingress: [{from: [{podSelector: {}}], ports: [{port: 80}, {port: web, protocol: TCP}]}]
  egress: [{}]
`,
	edits: []edit{
		setting("port", "/spec/ingress/0/ports/0/port", "81"),
		setting("port to name", "/spec/ingress/0/ports/0/port", `"web"`),
		setting("protocol that was defaulted", "/spec/ingress/0/ports/0/protocol", `"UDP"`),
		removing("ports", "/spec/ingress/0/ports"),
		{name: "peer", patch: ops(set("/spec/ingress/0/from/0", `{"ipBlock":{"cidr":"0.0.0.0/0"}}`))},
		setting("empty rule", "/spec/egress/0", `{"ports":[{"port":80}]}`),
		removing("egress", "/spec/egress"),
		setting("type", "/spec/policyTypes", `["Ingress"]`),
		{name: "further pod label", patch: `{"spec":{"podSelector":{"matchLabels":{"evil":"yes"}}}}`},
		{name: "further expression", patch: ops(add("/spec/podSelector/matchExpressions",
			`[{"key":"evil","operator":"Exists"}]`))},
	},
}

var budgetByNumber = shape{
	object: "poddisruptionbudgets/number",
	manifest: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: number, annotations: {note: NOTE}}
spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}
`,
	edits: []edit{
		setting("number", "/spec/minAvailable", "2"),
		setting("number to share", "/spec/minAvailable", `"1%"`),
		{name: "the other field", patch: `{"spec":{"minAvailable":null,"maxUnavailable":1}}`},
		{name: "further label in the selector", patch: `{"spec":{"selector":{"matchLabels":{"evil":"yes"}}}}`},
	},
}

var budgetByShare = shape{
	object: "poddisruptionbudgets/share",
	manifest: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: share, annotations: {note: NOTE}}
spec: {maxUnavailable: 50%, selector: {matchLabels: {app: b}}}
`,
	edits: []edit{
		setting("share", "/spec/maxUnavailable", `"51%"`),
		setting("share to number", "/spec/maxUnavailable", "50"),
		{name: "the other field", patch: `{"spec":{"maxUnavailable":null,"minAvailable":"50%"}}`},
	},
}

var autoscaler = shape{
	object: "horizontalpodautoscalers/scaler",
	manifest: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler, annotations: {note: NOTE}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}
  maxReplicas: 3
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1000m}}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}
`,
	edits: []edit{
		setting("metric", "/spec/metrics/0/resource/name", `"memory"`),
		setting("target", "/spec/metrics/0/resource/target/averageUtilization", "81"),
		setting("quantity", "/spec/metrics/1/resource/target/averageValue", `"2"`),
		removing("metric", "/spec/metrics/0"),
		{name: "order of metrics", patch: ops(move("/spec/metrics/0", "/spec/metrics/1"))},
		removing("all metrics", "/spec/metrics"),
		setting("policy", "/spec/behavior/scaleDown/policies/0/value", "2"),
		setting("maximum", "/spec/maxReplicas", "30"),
		setting("reference", "/spec/scaleTargetRef/name", `"evil"`),
	},
}

// autoscalerV1 is declared in another version than the storage version, and tampered with through another one.
var autoscalerV1 = shape{
	object: "horizontalpodautoscalers/old",
	manifest: `
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: old, annotations: {note: NOTE}}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}, minReplicas: 1, maxReplicas: 3, targetCPUUtilizationPercentage: 80}
`,
	edits: []edit{
		setting("target", "/spec/metrics/0/resource/target/averageUtilization", "81"),
		setting("maximum", "/spec/maxReplicas", "30"),
		setting("minimum", "/spec/minReplicas", "2"),
		setting("reference", "/spec/scaleTargetRef/name", `"evil"`),
	},
}

var lease = shape{
	object: "leases/lease",
	manifest: `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lease, annotations: {note: NOTE}}
spec: {holderIdentity: nobody, leaseDurationSeconds: 15, renewTime: "2024-01-01T02:00:00.500000+02:00"}
`,
	edits: []edit{
		setting("time", "/spec/renewTime", `"2024-01-01T02:00:00.000000Z"`),
		setting("holder", "/spec/holderIdentity", `"evil"`),
		removing("time", "/spec/renewTime"),
	},
}

var job = shape{
	object: "cronjobs/job",
	manifest: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: job, annotations: {note: NOTE}}
spec:
  schedule: "0 0 1 1 *"
  suspend: true
  jobTemplate:
    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1", env: [{name: A, value: a}]}]}}}
`,
	edits: []edit{
		setting("schedule", "/spec/schedule", `"* * * * *"`),
		setting("name of a container", "/spec/jobTemplate/spec/template/spec/containers/0/name", `"evil"`),
		setting("name of a variable", "/spec/jobTemplate/spec/template/spec/containers/0/env/0/name", `"EVIL"`),
		setting("number that is zero", "/spec/jobTemplate/spec/backoffLimit", "6"),
		removing("number that is zero, which is then defaulted", "/spec/jobTemplate/spec/backoffLimit"),
		setting("suspended", "/spec/suspend", "false"),
	},
}

// hooks has a webhook for a kind that does not exist.
var hooks = shape{
	object: "mutatingwebhookconfigurations/hooks", cluster: true,
	manifest: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "hooks-{{ .Release.Namespace }}", annotations: {note: NOTE}}
webhooks:
- &hook
  name: one.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {name: one, namespace: nowhere, path: /one}}
  rules: [{apiGroups: [nowhere.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
- <<: *hook
  name: two.example.com
  clientConfig: {url: "https://127.0.0.1:1/two"}
`,
	edits: []edit{
		setting("name", "/webhooks/0/name", `"evil.example.com"`),
		setting("resource", "/webhooks/0/rules/0/resources/0", `"evils"`),
		{name: "operation", patch: ops(add("/webhooks/1/rules/0/operations/-", `"UPDATE"`))},
		removing("webhook", "/webhooks/1"),
		{name: "service to address", patch: ops(set("/webhooks/0/clientConfig", `{"url":"https://127.0.0.1:2/evil"}`))},
		{name: "address to service", patch: ops(set("/webhooks/1/clientConfig",
			`{"service":{"name":"evil","namespace":"nowhere"}}`))},
		setting("port that was defaulted", "/webhooks/0/clientConfig/service/path", `"/evil"`),
		setting("policy", "/webhooks/0/failurePolicy", `"Fail"`),
	},
}
