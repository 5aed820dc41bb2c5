package main

import "github.com/rancher/helm-locker/tests/lib/cluster"

// markKey is an annotation of every object of the chart. Its value is unique to a Helm command.
const markKey = "soak/mark"

// writeChart writes the chart of a release into a directory and returns its path.
func writeChart(dir, name string) (string, error) {
	metadata := func(suffix string) string {
		return "metadata:\n  name: {{ .Release.Name }}-" + suffix + "\n  annotations: {" + markKey +
			": \"{{ .Values.mark }}\"}\n  labels: {tier: soak}\n"
	}
	templates := map[string]string{
		"configs.yaml": `{{- range $i := until (int .Values.configs) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-config-{{ $i }}
  annotations: {soak/mark: "{{ $.Values.mark }}"}
  labels: {tier: soak}
data:
  value: "{{ $.Values.mark }}"
  greeting: hello
  port: "8080"
{{- end }}
`,
		"secret.yaml": "apiVersion: v1\nkind: Secret\n" + metadata("secret") +
			"type: Opaque\nstringData: {password: \"pw-{{ .Values.mark }}\", user: admin}\n",
		"service.yaml": "apiVersion: v1\nkind: Service\n" + metadata("web") +
			"spec:\n  selector: {app: web}\n  ports:\n  - {name: http, port: 80, targetPort: 8080, protocol: TCP}\n  " +
			"- {name: metrics, port: 9090, targetPort: 9090, protocol: TCP}\n",
		"deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\n" + metadata("web") + `spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {mark: "{{ .Values.mark }}"}}
    spec:
      containers:
      - name: web
        image: registry.example/web:{{ .Values.mark }}
        args: [serve, --verbose]
        env:
        - {name: REGION, value: eu-1}
        - {name: MARK, value: "{{ .Values.mark }}"}
        ports: [{name: http, containerPort: 8080, protocol: TCP}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
`,
		"role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n" + metadata("reader") +
			"rules:\n- apiGroups: [\"\"]\n  resources: [configmaps]\n  verbs: [get, list]\n",
	}
	return cluster.Chart(dir, name, "0.1.0", templates, "mark: none\nconfigs: 3\n")
}
