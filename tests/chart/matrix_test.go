package chart

// kubeVersion is passed to Helm where it does not ask a cluster: a Helm not built by its own Makefile assumes
// Kubernetes 1.20.
const kubeVersion = "1.36.0"

// configuration is one point of the matrix of values, with the expected parts of the rendered objects.
type configuration struct {
	name, chart, values string
	// has and lacks are lines, spaces and the dash of a list aside.
	has, lacks []string
}

var matrix = append([]configuration{
	{
		name: "defaults", chart: operatorChart,
		has: []string{
			"kind: Deployment", "kind: ServiceAccount", "kind: Service", "replicas: 1", "--namespace=NAMESPACE",
			"--controller-name=helm-locker",
			"--leader-elect=true", "--lease-duration=15s", "--log-format=text", "fieldPath: spec.nodeName",
			"runAsNonRoot: true",
			"readOnlyRootFilesystem: true", "name: cluster-admin", `value: "483183820"`,
			"automountServiceAccountToken: true", "preStop:", "seconds: 5",
		},
		lacks: []string{
			"kind: PodDisruptionBudget", "--debug", "--skip-crd", "--impersonate", "kind: ServiceMonitor",
			"kind: PodMonitor", "kind: PrometheusRule",
			"kind: ConfigMap", "kind: NetworkPolicy", "volumeMounts:", "volumes:", "name: page",
			"topologySpreadConstraints:", "--notify-format=cloudevents", "--events", "notifications",
			`resources: ["tokenreviews"]`,
		},
	},
	{
		name: "replicated", chart: operatorChart, values: "{replicas: 3, leaseDuration: 5s}",
		has: []string{"replicas: 3", "kind: PodDisruptionBudget", "maxUnavailable: 1",
			"topologyKey: kubernetes.io/hostname",
			"topologyKey: topology.kubernetes.io/zone", "whenUnsatisfiable: ScheduleAnyway", "--lease-duration=5s"},
	},
	{
		name: "replicated otherwise", chart: operatorChart,
		values: "{replicas: 2, podDisruptionBudget: {maxUnavailable: 50%}, topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]}",
		has:    []string{"maxUnavailable: 50%", "topologyKey: rack", "labelSelector:"},
		lacks:  []string{"topologyKey: kubernetes.io/hostname"},
	},
	{
		name: "one at a time", chart: operatorChart,
		values: "{replicas: 1, leaderElection: false, podDisruptionBudget: {enabled: false}}",
		has:    []string{"--leader-elect=false", "type: Recreate"}, lacks: []string{`resources: ["leases"]`},
	},
	{
		name: "mirror", chart: operatorChart,
		values: "{global: {cattle: {systemDefaultRegistry: registry.example:5000}, imagePullSecrets: [{name: pull}]}, image: {tag: v9.9.9, pullPolicy: Always}}",
		has: []string{`image: "registry.example:5000/rancher/helm-locker:v9.9.9"`, "imagePullPolicy: Always",
			"name: pull"},
	},
	{
		name: "pinned", chart: operatorChart,
		values: "{image: {tag: v1, digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}, imagePullSecrets: [{name: mine}]}",
		has: []string{
			`image: "rancher/helm-locker@sha256:0123456789012345678901234567890123456789012345678901234567890123"`,
			"name: mine",
		},
	},
	{
		name: "debugging", chart: operatorChart, values: "{debug: true, debugLevel: 4, logFormat: json, additionalArgs: [--pprof, --objectset-metadata]}",
		has: []string{"--debug", "--debug-level=4", "--log-format=json", "--pprof", "--objectset-metadata"},
	},
	{
		name: "shard", chart: operatorChart, values: `{shardSelector: "team in (a, b)"}`,
		has: []string{`"--shard-selector=team in (a, b)"`, "--controller-name=helm-locker", "name: locker",
			"serviceAccountName: locker"},
		lacks: []string{"name: helm-locker-metrics", `resourceNames: ["helm-locker"]`},
	},
	{
		name: "another controller", chart: operatorChart, values: `{controllerName: locker-b}`,
		has: []string{"--controller-name=locker-b", "name: locker-b", `resourceNames: ["locker-b"]`,
			"serviceAccountName: locker-b"},
		lacks: []string{"name: helm-locker-metrics", "serviceAccountName: helm-locker"},
	},
	{
		name: "scoped", chart: operatorChart, values: `
rbac:
  profile: scoped
  rules:
    - {apiGroups: [apps], resources: [deployments], verbs: [list, watch]}
    - {nonResourceURLs: [/metrics], verbs: [get]}
    - {namespaces: [default, kube-system], apiGroups: [apps], resources: [deployments], verbs: [get, create, patch, delete]}
    - {namespaces: [default], apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: [web], verbs: [bind]}
`,
		has: []string{"namespace: default", "namespace: kube-system", "name: helm-locker-NAMESPACE-releases", "bind",
			"/metrics"},
		lacks: []string{"name: cluster-admin", "impersonate", "namespaces:"},
	},
	{
		name: "scoped without rules", chart: operatorChart, values: "{rbac: {profile: scoped}, crds: {manage: false}}",
		has:   []string{"--skip-crd", "--trust-records=Witnessed", `resources: ["subjectaccessreviews"]`},
		lacks: []string{"name: cluster-admin", `resourceNames: ["helmreleases.helm.cattle.io"]`},
	},
	{
		name: "impersonate", chart: operatorChart,
		values: "{rbac: {profile: impersonate}, impersonation: {defaultServiceAccount: locker, serviceAccounts: [locker, deployer]}}",
		has: []string{"--impersonate", "--default-service-account=locker", `resources: ["serviceaccounts"]`,
			`resourceNames: ["locker","deployer"]`, `verbs: ["impersonate"]`},
		lacks: []string{"name: cluster-admin"},
	},
	{
		name: "others' accounts", chart: operatorChart,
		values: "{trust: {records: Any}, rbac: {create: false, userRoles: false}, serviceAccount: {create: false, name: mine, automountToken: false}, metrics: {service: {enabled: false}}, resources: {limits: null}, policies: {resources: {limits: null}}}",
		has:    []string{"serviceAccountName: mine", "automountServiceAccountToken: false"},
		lacks: []string{
			"preStop:",
			"kind: ClusterRole",
			"kind: Role",
			"kind: ServiceAccount",
			"kind: Service",
			"name: GOMEMLIMIT",
			"serviceAccountName: helm-locker-policies",
		},
	},
	{
		name: "without policies", chart: operatorChart, values: "{policies: {enabled: false}}",
		lacks: []string{"policies", "name: helm-locker-policies", "serviceAccountName: helm-locker-policies"},
	},
	{
		name: "policies beside a shard that impersonates", chart: operatorChart,
		values: "{shardSelector: team=a, rbac: {profile: impersonate}, releaseStorage: 'secret,configmap', policies: {replicas: 2, ports: {metrics: 9000, health: 9001}, additionalArgs: [--log-level=warn]}, additionalArgs: [--metrics-host=a.example, --objectset-metadata], networkPolicy: {enabled: true}}",
		has: []string{`"policies"`, `"--shard-selector=team=a"`, `"--impersonate"`, `"--release-storage=secret,configmap"`,
			"replicas: 2", `"--metrics-address=:9000"`, "containerPort: 9001", `"--log-level=warn"`, `"--metrics-host=a.example"`,
			"name: locker-policies", "serviceAccountName: locker-policies", "app: helm-locker-policies"},
		lacks: []string{`"--objectset-metadata"`},
	},
	{
		name: "teams", chart: operatorChart,
		values: "{teams: {enabled: true, longestPause: 2h30m}, metrics: {auth: true}, debug: true, networkPolicy: {enabled: true}}",
		has: []string{`"teams"`, `"--longest-pause=2h30m"`, `"--metrics-auth"`, "name: helm-locker-teams", "serviceAccountName: helm-locker-teams",
			"app: helm-locker-teams", `resources: ["releaselocks"]`},
	},
	{
		name: "policies of an account that others made", chart: operatorChart, values: "{policies: {serviceAccountName: mine}}",
		has: []string{"serviceAccountName: mine", "name: mine", "serviceAccountName: helm-locker"},
	},
	{
		name: "scheduled", chart: operatorChart, values: `
nodeSelector: {disk: ssd}
priorityClassName: system-cluster-critical
tolerations: [{operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1.5Gi, cpu: "2"}}
goMemLimitPercent: 80
livenessProbe: {periodSeconds: 7, initialDelaySeconds: 3}
readinessProbe: {timeoutSeconds: 2}
terminationGracePeriodSeconds: 45
`,
		has: []string{"disk: ssd", "kubernetes.io/os: linux", "operator: Exists",
			"priorityClassName: system-cluster-critical", "nodeAffinity:",
			`value: "1288490188"`, "periodSeconds: 7", "initialDelaySeconds: 3", "timeoutSeconds: 2",
			"terminationGracePeriodSeconds: 45"},
	},
	{
		name: "extended", chart: operatorChart, values: `
labels: {team: platform}
annotations: {contact: platform@example.org}
podLabels: {pod: label}
podAnnotations: {pod: annotation}
serviceAccount: {annotations: {role: arn}, labels: {sa: label}}
extraEnv: [{name: GOMEMLIMIT, value: 100MiB}, {name: HTTP2_PING_TIMEOUT_SECONDS, value: "7"}, {name: HTTPS_PROXY, valueFrom: {secretKeyRef: {name: proxy, key: url}}}]
extraEnvFrom: [{configMapRef: {name: settings, optional: true}}]
extraVolumes: [{name: ca, configMap: {name: ca, optional: true}}]
extraVolumeMounts: [{name: ca, mountPath: /etc/ssl/certs, readOnly: true}]
podSecurityContext: {runAsUser: null, fsGroup: 1}
ports: {metrics: 9090, health: 9091}
`,
		has: []string{"team: platform", "contact: platform@example.org", "pod: label", "pod: annotation", "role: arn",
			"sa: label", "value: 100MiB", `value: "7"`,
			"mountPath: /etc/ssl/certs", "fsGroup: 1", "--metrics-address=:9090", "--health-address=:9091",
			"containerPort: 9090"},
		lacks: []string{"runAsUser: 65532", `value: "483183820"`, `value: "3"`},
	},
	{
		name: "labels of its own win", chart: operatorChart,
		values: "{labels: {app: other}, podLabels: {release: other}}",
		lacks:  []string{"app: other", "release: other"},
	},
	{
		name: "observed", chart: operatorChart, values: `
metrics:
  serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 10s, relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: keep, regex: helm_locker_.*}]}
  podMonitor: {enabled: true, interval: 20s}
  prometheusRule: {enabled: true, labels: {release: prometheus}}
  dashboard: {enabled: true, namespace: default, annotations: {folder: helm}}
  service: {annotations: {scrape: "true"}, port: 80}
`,
		has: []string{"kind: ServiceMonitor", "kind: PodMonitor", "podMetricsEndpoints:", "kind: PrometheusRule",
			"alert: HelmLockerDown",
			"grafana_dashboard: \"1\"", "namespace: default", "folder: helm", `scrape: "true"`, "action: labeldrop",
			`expr: absent(helm_locker_build_info{namespace="NAMESPACE"})`},
		lacks: []string{"namespace: cattle-helm-system"},
	},
	{
		name: "fenced", chart: operatorChart, values: `
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  apiServerPorts: [16443]
  apiServerTo: [{ipBlock: {cidr: 192.0.2.10/32}}]
  guardFrom: [{ipBlock: {cidr: 192.0.2.11/32}}]
  egress: [{ports: [{port: 8443}], to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]
`,
		has: []string{"kind: NetworkPolicy", "kubernetes.io/metadata.name: monitoring", "port: 16443",
			"cidr: 192.0.2.10/32", "cidr: 192.0.2.11/32"},
		lacks: []string{"port: 53", "port: 8443"}, // which are for notifications
	},
	{
		name: "fenced by default", chart: operatorChart, values: "{networkPolicy: {enabled: true}}",
		has: []string{"namespaceSelector: {}", "port: 6443"},
	},
	{
		name: "guarded", chart: operatorChart, values: "{guard: {enabled: true, port: 9000}, networkPolicy: {enabled: true}}",
		has: []string{"--guard-address=:9000", "--guard-service=helm-locker-guard", "--guard-secret=helm-locker-guard",
			"--guard-owner=helm-locker-NAMESPACE", "name: helm-locker-guard", "containerPort: 9000", "port: guard",
			`resourceNames: ["NAMESPACE-helm-locker-guard"]`, `verbs: ["list", "watch", "update"]`},
		lacks: []string{"--guard-cert-manager", "kind: Certificate", "--guard-leader-service", "status.podIP",
			"guard-leader", "endpointslices"},
	},
	{
		name: "guarded by two replicas", chart: operatorChart, values: "{replicas: 2, guard: {enabled: true, port: 9000}}",
		has: []string{"--guard-leader-service=helm-locker-guard-leader", "fieldPath: status.podIP", "targetPort: 9000",
			"name: helm-locker-guard-leader", `resourceNames: ["helm-locker-guard-leader"]`,
			`resources: ["endpointslices"]`},
	},
	{
		name: "guarded by two replicas with cert-manager", chart: operatorChart,
		values: "{replicas: 2, guard: {enabled: true, certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: ca}}}}",
		has:    []string{"helm-locker-guard.NAMESPACE.svc", "helm-locker-guard-leader.NAMESPACE.svc"},
	},
	{
		name: "guarded with cert-manager", chart: operatorChart,
		values: "{guard: {enabled: true, certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: ca}}}}",
		has: []string{
			"--guard-address=:9443",
			"--guard-cert-manager",
			"kind: Certificate",
			"secretName: helm-locker-guard",
			"helm-locker-guard.NAMESPACE.svc",
			"kind: ClusterIssuer",
			`verbs: ["list", "watch"]`,
		},
		lacks: []string{`verbs: ["list", "watch", "update"]`},
	},
	{
		name: "paged", chart: operatorChart, values: "{page: {enabled: true, port: 9000}, additionalArgs: [--page-host=x.example]}",
		has: []string{`"--page-address=127.0.0.1:9000"`, `"--page-auth"`, `resources: ["subjectaccessreviews"]`,
			"name: page", "containerPort: 9000", "name: helm-locker-page", "--events", `"--page-host=x.example"`,
			`verbs: ["get", "list", "watch"]`, `nonResourceURLs: ["/events"]`},
		lacks: []string{"targetPort: page", "--metrics-auth", "--page-address=127.0.0.1:9000", "--page-auth"},
	},
	{
		name: "paged without a sign-in", chart: operatorChart, values: "{page: {enabled: true, auth: false}}",
		has:   []string{`"--page-address=127.0.0.1:8082"`},
		lacks: []string{`"--page-auth"`},
	},
	{
		name: "measured by those who may", chart: operatorChart,
		values: "{metrics: {auth: true, serviceMonitor: {enabled: true}}}",
		has: []string{"--metrics-auth", `resources: ["tokenreviews"]`, `resources: ["subjectaccessreviews"]`,
			"bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"}, lacks: []string{"--page-auth"},
	},
	{
		name: "measured with a token", chart: operatorChart,
		values: "{metrics: {auth: true, tokenSecret: {name: scraper}, podMonitor: {enabled: true}, serviceMonitor: {enabled: true}}}",
		has:    []string{"--metrics-auth", "credentials:", "name: scraper"},
		lacks:  []string{"bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"},
	},
	{
		name: "paged for others", chart: operatorChart,
		values: "{page: {enabled: true, hosts: [locker.example], service: {enabled: true, annotations: {a: b}}}, networkPolicy: {enabled: true, metricsFrom: [{podSelector: {matchLabels: {app: prometheus}}}], pageFrom: [{podSelector: {matchLabels: {app: ingress}}}]}}",
		has: []string{`"--page-address=:8082"`, `"--page-host=locker.example"`, "name: helm-locker-page",
			"targetPort: page", "app: ingress", "port: page", "app: helm-locker-page", "port: 8080"},
	},
	{
		// The defaults of the older chart's values.yaml, as users keep them, and their equivalents.
		name: "values of the older chart", chart: operatorChart, values: `
global:
  cattle: {systemDefaultRegistry: ""}
  kubectl: {repository: rancher/kubectl, tag: v1.20.2, pullPolicy: IfNotPresent}
  rbac: {create: true, userRoles: {create: true, aggregateToDefaultRoles: true}, pspEnabled: true, pspAnnotations: {}}
  imagePullSecrets: [{name: pull}]
nameOverride: ""
namespaceOverride: ""
image: {repository: rancher/helm-locker, tag: v9, pullPolicy: IfNotPresent}
additionalArgs: [--pprof]
nodeSelector: {disk: fast}
tolerations: [{key: k, operator: Exists}]
resources: {}
securityContext: {}
debug: true
debugLevel: 8
`,
		has: []string{`image: "rancher/helm-locker:v9"`, "--pprof", "disk: fast", "--debug", "--debug-level=8",
			"name: pull", "key: k"},
	},
	{
		name: "example", chart: exampleChart, values: "{operatorNamespace: NAMESPACE, message: 'a: \"quoted\" text'}",
		has: []string{"kind: ConfigMap", "kind: HelmRelease", `namespace: "NAMESPACE"`,
			`message: "a: \"quoted\" text"`},
	},
	{name: "example as a dependency", chart: exampleChart,
		values: "{enabled: true, operatorNamespace: NAMESPACE, global: {cattle: {systemDefaultRegistry: x}}}",
		has:    []string{"kind: HelmRelease"}},
}, notifying...)
