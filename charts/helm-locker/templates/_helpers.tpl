{{/* What the labels call it. */}}
{{- define "helm-locker.name" -}}
helm-locker
{{- end }}

{{/* The name of everything in the release namespace: that of the controller, as its lease has, too; shards have that in common,
     so theirs is that of the Helm release. So operators that share a namespace share nothing else. */}}
{{- define "helm-locker.fullname" -}}
{{- if .Values.shardSelector -}}
{{ .Release.Name }}
{{- else -}}
{{ .Values.controllerName }}
{{- end -}}
{{- end }}

{{/* The name of cluster-scoped objects: operators of two namespaces must not share them. */}}
{{- define "helm-locker.clusterName" -}}
{{- if eq .Release.Namespace "cattle-helm-system" -}}
{{ include "helm-locker.fullname" . }}
{{- else -}}
{{ printf "%s-%s" (include "helm-locker.fullname" .) .Release.Namespace }}
{{- end -}}
{{- end }}

{{- define "helm-locker.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "helm-locker.fullname" .) }}
{{- else -}}
{{ required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{/* Something where notifications are sent, nothing elsewhere. */}}
{{- define "helm-locker.notifies" -}}
{{- if or .Values.notify.urls .Values.notify.urlSecret.name .Values.notify.evidence.enabled }}true{{ end -}}
{{- end }}

{{/* Something where a process reads the operator's events, nothing elsewhere. */}}
{{- define "helm-locker.streams" -}}
{{- if or .Values.page.enabled (include "helm-locker.notifies" .) }}true{{ end -}}
{{- end }}

{{/* The name of what belongs to notifications. */}}
{{- define "helm-locker.notifications" -}}
{{ include "helm-locker.fullname" . }}-notifications
{{- end }}

{{/* Labels of the selector of the Deployment that sends notifications. They differ from the operator's, which its Services and
     its budget select by. */}}
{{- define "helm-locker.notificationsLabels" -}}
app: helm-locker-notifications
release: {{ .Release.Name | quote }}
{{- end }}

{{- define "helm-locker.image" -}}
{{- $registry := ((.Values.global).cattle).systemDefaultRegistry -}}
{{- with $registry }}{{ . | trimSuffix "/" }}/{{ end -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Labels of the Deployment's selector, which Kubernetes never lets change. */}}
{{- define "helm-locker.selectorLabels" -}}
app: {{ include "helm-locker.name" . }}
release: {{ .Release.Name | quote }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "helm-locker.labels" -}}
{{ include "helm-locker.selectorLabels" . }}
app.kubernetes.io/name: {{ include "helm-locker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Labels and annotations of an object: (list $ labels annotations), of which the last two are its own. Those of the chart
     win over those of the user: selectors depend on them. */}}
{{- define "helm-locker.metadata" -}}
{{- $root := index . 0 -}}
{{- $own := include "helm-locker.labels" $root | fromYaml -}}
labels:
  {{- merge (dict) $own (index . 1) $root.Values.labels | toYaml | nindent 2 }}
{{- with merge (dict) (index . 2) $root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A share of a quantity of memory, in bytes: (list quantity percent). */}}
{{- define "helm-locker.share" -}}
{{- $quantity := index . 0 -}}
{{- $percent := index . 1 | float64 -}}
{{- if not (kindIs "string" $quantity) -}}
{{- $quantity = $quantity | int64 | toString -}}
{{- end -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" $quantity -}}
{{- $unit := trimPrefix $number $quantity -}}
{{- $bytes := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if or (not $number) (not (hasKey $bytes $unit)) -}}
{{- fail (printf "resources.limits.memory: cannot read %q; write it like 512Mi or 1Gi" $quantity) -}}
{{- end -}}
{{- divf (mulf (float64 $number) (get $bytes $unit) $percent) 100 | floor | int64 -}}
{{- end }}

{{/* The RBAC rules that hold in a namespace, in the whole cluster for "": (list rules namespace). */}}
{{- define "helm-locker.rulesIn" -}}
{{- $namespace := index . 1 -}}
{{- $found := list -}}
{{- range index . 0 -}}
{{- if or (has $namespace .namespaces) (and (not .namespaces) (eq $namespace "")) -}}
{{- $found = append $found (omit . "namespaces") -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{/* Whom every binding is for. */}}
{{- define "helm-locker.subject" -}}
- kind: ServiceAccount
  name: {{ include "helm-locker.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Whether the API server asks the operator about requests: for the guard, or for trust in records. An account needs no trust. */}}
{{- define "helm-locker.asked" -}}
{{- if or .Values.guard.enabled (eq (include "helm-locker.witnessed" .) "true") }}true{{ end }}
{{- end }}

{{/* Whether the leader has a Service of its own, by which the API server asks it for the users of changes. */}}
{{- define "helm-locker.leaderService" -}}
{{- if and (include "helm-locker.asked" .) .Values.leaderElection (gt (int .Values.replicas) 1) }}true{{ end }}
{{- end }}

{{/* Whether only trusted records are enforced. */}}
{{- define "helm-locker.witnessed" -}}
{{- if and (ne .Values.trust.records "Any") (ne .Values.rbac.profile "impersonate") }}true{{ end }}
{{- end }}
