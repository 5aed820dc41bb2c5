{{/* The Deployment of a process beside the operator: (dict "root" $ "name" NAME "values" VALUES "args" ARGUMENTS "account" ACCOUNT "strategy" STRATEGY "ports" MORE).
     NAME is its part of names, VALUES are those of the chart under that name, and MORE are ports beside those of metrics and health. */}}
{{- define "helm-locker.process" -}}
{{- $root := .root }}
{{- $values := .values }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "helm-locker.fullname" $root }}-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  {{- include "helm-locker.metadata" (list $root dict dict) | nindent 2 }}
spec:
  replicas: {{ $values.replicas }}
  selector:
    matchLabels:
      {{- include "helm-locker.processLabels" . | nindent 6 }}
  strategy:
    type: {{ .strategy }}
  template:
    metadata:
      labels:
        {{- $own := printf "%s\napp.kubernetes.io/name: %s" (include "helm-locker.processLabels" .) (include "helm-locker.name" $root) | fromYaml }}
        {{- merge (dict) $own $root.Values.podLabels $root.Values.labels | toYaml | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ .name }}
        {{- with $root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ .account }}
      {{- with $root.Values.imagePullSecrets | default ($root.Values.global).imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $root.Values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      automountServiceAccountToken: {{ $root.Values.serviceAccount.automountToken }}
      terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
      containers:
        - name: {{ .name }}
          image: {{ include "helm-locker.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- range .args }}
            - {{ . | quote }}
            {{- end }}
            {{- range $root.Values.additionalArgs }}
            {{- if regexMatch "^--(pprof|metrics-auth|impersonate|((kubeconfig|metrics-host|log-level|release-storage)=.*))$" . }}
            - {{ . | quote }}
            {{- end }}
            {{- end }}
            {{- range $values.additionalArgs }}
            - {{ . | quote }}
            {{- end }}
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            {{- if eq .name "policies" }}{{/* the only elected one */}}
            - name: POD_UID
              valueFrom:
                fieldRef:
                  fieldPath: metadata.uid
            {{- end }}
            {{- include "helm-locker.connectionEnv" $root | nindent 12 }}
            {{- if ($values.resources.limits).memory }}
            # In bytes: {{ $root.Values.goMemLimitPercent }} % of the memory limit.
            - name: GOMEMLIMIT
              value: {{ include "helm-locker.share" (list $values.resources.limits.memory $root.Values.goMemLimitPercent) | quote }}
            {{- end }}
            {{- range $root.Values.extraEnv }}
            {{- if ne .name "GOMEMLIMIT" }}
            - {{- toYaml . | nindent 14 }}
            {{- end }}
            {{- end }}
          {{- with $root.Values.extraEnvFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - name: metrics
              containerPort: {{ $values.ports.metrics }}
            - name: health
              containerPort: {{ $values.ports.health }}
            {{- with .ports }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          livenessProbe:
            httpGet:
              path: /healthz
              port: health
            {{- with $root.Values.livenessProbe }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            {{- with $root.Values.readinessProbe }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $values.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $root.Values.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $root.Values.extraVolumeMounts }}
          volumeMounts:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with $root.Values.extraVolumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      nodeSelector:
        {{- merge (dict) $root.Values.nodeSelector (dict "kubernetes.io/os" "linux") | toYaml | nindent 8 }}
      tolerations:
        - key: cattle.io/os
          operator: Equal
          value: linux
          effect: NoSchedule
        {{- with $root.Values.tolerations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $root.Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{/* Labels of a process beside the operator; the operator's own select none of its Pods. */}}
{{- define "helm-locker.processLabels" -}}
app: {{ include "helm-locker.name" .root }}-{{ .name }}
release: {{ .root.Release.Name | quote }}
{{- end }}

{{/* The NetworkPolicy of a process beside the operator, which talks to the API server: as helm-locker.process, with
     "ingress" and "egress": more rules. */}}
{{- define "helm-locker.processNetworkPolicy" -}}
{{- $root := .root }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "helm-locker.fullname" $root }}-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  {{- include "helm-locker.metadata" (list $root dict dict) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "helm-locker.processLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - port: metrics
      from:
        {{- $root.Values.networkPolicy.metricsFrom | default (list (dict "namespaceSelector" dict)) | toYaml | nindent 8 }}
    {{- with .ingress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    # Probes come from the node, which has no labels to select it by.
    - ports:
        - port: health
  egress:
    {{- include "helm-locker.apiServerEgress" $root | nindent 4 }}
    {{- with .egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* The egress rule for the API server alone. Its address is as the cluster has it, so the ports are all without apiServerTo. */}}
{{- define "helm-locker.apiServerEgress" -}}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - port: {{ . }}
    {{- end }}
  {{- with .Values.networkPolicy.apiServerTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* The ServiceAccount of a process beside the operator: one of its own, unless others than the chart make accounts or roles:
     then they have given the operator's account what the process needs, too. */}}
{{- define "helm-locker.processAccount" -}}
{{- if .values.serviceAccountName -}}
{{ .values.serviceAccountName }}
{{- else if and .root.Values.serviceAccount.create .root.Values.rbac.create -}}
{{ include "helm-locker.fullname" .root }}-{{ .name }}
{{- else -}}
{{ include "helm-locker.serviceAccountName" .root }}
{{- end -}}
{{- end }}

{{/* How soon client-go gives up a connection to the API server on which nothing comes: it pings after 5 seconds, and waits 3. */}}
{{- define "helm-locker.connectionEnv" -}}
{{- $given := dict }}
{{- range .Values.extraEnv }}{{ $_ := set $given .name true }}{{ end }}
{{- range list (list "HTTP2_READ_IDLE_TIMEOUT_SECONDS" "5") (list "HTTP2_PING_TIMEOUT_SECONDS" "3") }}
{{- if not (hasKey $given (first .)) }}
- name: {{ first . }}
  value: {{ last . | quote }}
{{- end }}
{{- end }}
{{- end }}
