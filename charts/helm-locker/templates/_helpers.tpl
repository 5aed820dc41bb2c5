{{/* The name of everything in the release namespace. Fixed, because a cluster has one helm-locker for each namespace of HelmReleases. */}}
{{- define "helm-locker.name" -}}
helm-locker
{{- end }}

{{/* The name of cluster-scoped objects: operators of two namespaces must not share them. */}}
{{- define "helm-locker.clusterName" -}}
{{- if eq .Release.Namespace "cattle-helm-system" -}}
helm-locker
{{- else -}}
{{ printf "helm-locker-%s" .Release.Namespace | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "helm-locker.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "helm-locker.name" .) }}
{{- else -}}
{{ required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{- define "helm-locker.image" -}}
{{- $registry := ((.Values.global).cattle).systemDefaultRegistry -}}
{{- with $registry }}{{ . | trimSuffix "/" }}/{{ end -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels of the Deployment's selector, which Kubernetes never lets change. */}}
{{- define "helm-locker.selectorLabels" -}}
app: {{ include "helm-locker.name" . }}
release: {{ .Release.Name | quote }}
{{- end }}

{{- define "helm-locker.labels" -}}
{{ include "helm-locker.selectorLabels" . }}
app.kubernetes.io/name: {{ include "helm-locker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
