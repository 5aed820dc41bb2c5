package chart

// notifying are the points of the matrix with notifications.
var notifying = []configuration{
	{
		name: "notifying", chart: operatorChart, values: `{notify: {urls: ["https://one.example/hook?a=b,c", "http://two.example"], format: json}}`,
		has: []string{`"--notify-url=https://one.example/hook?a=b,c"`, `"--notify-url=http://two.example"`,
			"--notify-format=json", `command: ["/usr/bin/helm-locker-notifications"]`, "--events", "name: helm-locker-notifications",
			"app: helm-locker-notifications", `nonResourceURLs: ["/events"]`, `resources: ["tokenreviews"]`,
			"--state=helm-locker-notifications"},
		lacks: []string{"name: HELM_LOCKER_NOTIFY_URL", "volumeMounts:", "kind: NetworkPolicy"},
	},
	{
		name: "notifying without an election", chart: operatorChart,
		values: `{leaderElection: false, shardSelector: "a=b", notify: {urlSecret: {name: hooks}, resources: {limits: {memory: 100Mi}}}, metrics: {podMonitor: {enabled: true}}, networkPolicy: {enabled: true, metricsFrom: [{podSelector: {matchLabels: {app: prometheus}}}], egress: [{ports: [{port: 8443}]}]}}`,
		has: []string{`resources: ["leases"]`, `"--shard-selector=a=b"`, "name: locker-notifications", "port: 8443", "port: 53",
			`value: "94371840"`},
	},
	{
		name: "confiding", chart: operatorChart, values: "{notify: {urlSecret: {name: hooks}, tokenSecret: {name: hook-token}, caSecret: {name: hook-ca}}}",
		has: []string{"name: HELM_LOCKER_NOTIFY_URL", "name: hooks",
			"--notify-token-file=/etc/helm-locker/notify/token", "name: hook-token",
			"--notify-ca-file=/etc/helm-locker/notify/ca.crt", "name: hook-ca", "mountPath: /etc/helm-locker/notify"},
	},
	{
		name: "notifying Slack", chart: operatorChart, values: "{notify: {urlSecret: {name: hooks}, format: slack}}",
		has:   []string{"--notify-format=slack"},
		lacks: []string{"volumeMounts:"},
	},
	{
		name: "notifying by a template", chart: operatorChart,
		values: `{notify: {urlSecret: {name: hooks}, tokenSecret: {name: token}, template: '{"text": {{ json .Title }}}'}}`,
		has: []string{"--notify-template-file=/etc/helm-locker/notify/template", "name: helm-locker-notify", "configMap:",
			"template: '{\"text\": {{ json .Title }}}'", "secret:", "--notify-severity=low"},
	},
	{
		name: "keeping evidence", chart: operatorChart,
		values: `{notify: {evidence: {enabled: true, cluster: "prod, west", size: 5Gi, storageClass: fast, accessMode: ReadWriteOncePod}}}`,
		has: []string{"--evidence-dir=/var/lib/helm-locker", `"--evidence-cluster=prod, west"`, "--events", "kind: PersistentVolumeClaim",
			"claimName: helm-locker-evidence", "helm.sh/resource-policy: keep", "storage: 5Gi", "storageClassName: fast",
			"accessModes: [ReadWriteOncePod]", "fsGroup: 65532", `resources: ["helmreleases"]`, "mountPath: /var/lib/helm-locker"},
		lacks: []string{"--notify-url", "HELM_LOCKER_NOTIFY_URL", `"--evidence-bucket-region=us-east-1"`},
	},
	{
		name: "keeping evidence on a claim", chart: operatorChart,
		values: `{podSecurityContext: {fsGroup: 7}, notify: {urls: ["https://one.example"], evidence: {enabled: true, cluster: prod, existingClaim: mine}}}`,
		has:    []string{"claimName: mine", `"--evidence-cluster=prod"`, "fsGroup: 7"},
		lacks:  []string{"kind: PersistentVolumeClaim", "fsGroup: 65532"},
	},
	{
		name: "copying evidence to a bucket", chart: operatorChart,
		values: `{networkPolicy: {enabled: true}, notify: {evidence: {enabled: true, cluster: prod, bucket: {url: "s3://audit/clusters", endpoint: "https://s3.example.com:9000", region: eu, secret: {name: audit-key, accessKeyID: id}, caSecret: {name: audit-ca}}}}}`,
		has: []string{`"--evidence-bucket=s3://audit/clusters"`, `"--evidence-bucket-endpoint=https://s3.example.com:9000"`,
			`"--evidence-bucket-region=eu"`, "--evidence-bucket-ca-file=/etc/helm-locker/notify/bucket-ca.crt", "name: AWS_ACCESS_KEY_ID",
			"name: AWS_SECRET_ACCESS_KEY", "name: audit-key", "key: id", "key: AWS_SECRET_ACCESS_KEY", "name: audit-ca",
			"path: bucket-ca.crt", "port: 9000"},
	},
	{
		name: "copying evidence to Amazon", chart: operatorChart,
		values: `{extraEnvFrom: [{secretRef: {name: mine}}], networkPolicy: {enabled: true, apiServerPorts: [6443]}, notify: {evidence: {enabled: true, cluster: prod, bucket: {url: "s3://audit"}}}}`,
		has: []string{`"--evidence-bucket=s3://audit"`, `"--evidence-bucket-endpoint=https://s3.amazonaws.com"`, "port: 443",
			`"--evidence-bucket-region=us-east-1"`},
		lacks: []string{"--evidence-bucket-ca-file=/etc/helm-locker/notify/bucket-ca.crt", "name: AWS_ACCESS_KEY_ID"},
	},
	{
		name: "notifying severe drift", chart: operatorChart,
		values: `{notify: {urlSecret: {name: hooks}, severity: high, severities: 'default: low'}}`,
		has: []string{"--notify-severity=high", "--severities=/etc/helm-locker/notify/severities", "key: severities",
			"severities: 'default: low'",
			"checksum/notify-severities: 5c74b16a61e589c1755cf4e1917d21df373361adf961c88586c7f1e5a99605bb"},
	},
}
