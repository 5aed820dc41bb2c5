{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
tamper.example.com/revision: {{ .Values.revision | quote }}
{{- end }}
