{{- define "shop.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
team: {{ .Values.global.team }}
{{- end }}
{{- define "shop.probe" }}
livenessProbe:
  httpGet: {path: /healthz, port: web}
  periodSeconds: 10
{{- end }}
