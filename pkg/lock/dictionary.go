package lock

// dictionary is text as it occurs in the desired state of most objects: JSON as encoding/json writes it, keys in
// alphabetical order, put together from the field names of the Kubernetes API, from what Helm sets on every object
// and from what charts by convention set. A packed object refers to it where it says the same, which is why it must
// never change while anything is packed; nothing packed outlives the process. What comes last is referred to at the
// least cost, so what is rare comes first.
const dictionary = dictionaryOfCluster + dictionaryOfNetwork + dictionaryOfRBAC + dictionaryOfWorkloads +
	dictionaryOfAll

// dictionaryOfCluster is of CustomResourceDefinitions, admission webhooks and the like.
const dictionaryOfCluster = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"","names":{"categories":[],` +
	`"kind":"","listKind":"List","plural":"","shortNames":[],"singular":""},"scope":"Namespaced","versions":[{"additionalPrinterColumns":[{` +
	`"jsonPath":".metadata.creationTimestamp","name":"Age","type":"date"}],"name":"v1alpha1","schema":{"openAPIV3Schema":{"description":"",` +
	`"properties":{"apiVersion":{"description":"APIVersion defines the versioned schema of this representation of an object.","type":"string"},` +
	`"spec":{"additionalProperties":{"type":"string"},"items":{"enum":[],"format":"int32","maxLength":253,"minLength":1,"pattern":"","required":[` +
	`"type":"array","x-kubernetes-list-type":"atomic","x-kubernetes-map-type":"atomic","x-kubernetes-preserve-unknown-fields":true}},"type":"object"}},` +
	`"served":true,"storage":true,"subresources":{"status":{}}}` +
	`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","kind":"MutatingWebhookConfiguration","webhooks":[{` +
	`"admissionReviewVersions":["v1"],"clientConfig":{"caBundle":"","service":{"name":"","namespace":"","path":"/validate","port":443}},` +
	`"failurePolicy":"Fail","matchPolicy":"Equivalent","name":"","namespaceSelector":{"matchExpressions":[{"key":"","operator":"NotIn","values":[""]}]},` +
	`"objectSelector":{},"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE","DELETE"],"resources":[""],"scope":"*"}],` +
	`"sideEffects":"None","timeoutSeconds":10}]`

// dictionaryOfNetwork is of what leads traffic to pods, and keeps enough of them.
const dictionaryOfNetwork = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","spec":{"ingressClassName":"nginx","rules":[{"host":"","http":{"paths":[{` +
	`"backend":{"service":{"name":"","port":{"name":"http"}}},"path":"/","pathType":"Prefix"}]}}],"tls":[{"hosts":[""],"secretName":""}]}` +
	`"kind":"NetworkPolicy","spec":{"egress":[{"to":[{"ports":[{"port":53,"protocol":"UDP"}]}]}],"ingress":[{"from":[{"namespaceSelector":{},"podSelector":{"matchLabels":{` +
	`"policyTypes":["Ingress","Egress"]` +
	`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"maxUnavailable":1,"minAvailable":1,"selector":{"matchLabels":{` +
	`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":10,"metrics":[{"resource":{"name":"cpu","target":{` +
	`"averageUtilization":80,"type":"Utilization"}},"type":"Resource"}],"minReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"` +
	`{"apiVersion":"monitoring.coreos.com/v1","kind":"ServiceMonitor","spec":{"endpoints":[{"interval":"30s","path":"/metrics","port":"metrics"}],"namespaceSelector":{"matchNames":["` +
	`{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"None","externalTrafficPolicy":"","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack",` +
	`"ports":[{"appProtocol":"http","name":"http","nodePort":,"port":80,"protocol":"TCP","targetPort":"http"}],"publishNotReadyAddresses":true,"selector":{` +
	`"sessionAffinity":"None","type":"LoadBalancer","type":"NodePort","type":"ClusterIP"}`

// dictionaryOfRBAC is of accounts and what they may do.
const dictionaryOfRBAC = `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}` +
	`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","kind":"Role","rules":[{"apiGroups":["","apps","batch","extensions","networking.k8s.io",` +
	`"policy","storage.k8s.io","coordination.k8s.io","authentication.k8s.io","authorization.k8s.io","apiextensions.k8s.io"],"resourceNames":[""],` +
	`"resources":["configmaps","customresourcedefinitions","daemonsets","deployments","endpoints","endpointslices","events","ingresses","jobs","leases","namespaces",` +
	`"nodes","persistentvolumeclaims","pods","replicasets","secrets","serviceaccounts","services","statefulsets","subjectaccessreviews","tokenreviews","/status","/finalizers"],` +
	`"verbs":["create","delete","deletecollection","get","list","watch","patch","update"]},{"apiGroups":[""],"resources":[""],"verbs":["get","list","watch"]}]}` +
	`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","kind":"RoleBinding","roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",` +
	`"name":""},"subjects":[{"kind":"ServiceAccount","name":"","namespace":""}]}` +
	`{"apiVersion":"v1","automountServiceAccountToken":true,"imagePullSecrets":[],"kind":"ServiceAccount","secrets":[]`

// dictionaryOfWorkloads is of what runs pods.
const dictionaryOfWorkloads = `{"apiVersion":"batch/v1","kind":"CronJob","kind":"Job","spec":{"concurrencyPolicy":"Forbid","failedJobsHistoryLimit":1,"jobTemplate":{"spec":{"backoffLimit":` +
	`"restartPolicy":"OnFailure","schedule":"","successfulJobsHistoryLimit":3,"suspend":false,"ttlSecondsAfterFinished":` +
	`{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"10Gi"}},"storageClassName":"","volumeMode":"Filesystem"` +
	`{"apiVersion":"apps/v1","kind":"StatefulSet","kind":"DaemonSet","podManagementPolicy":"Parallel","serviceName":"","updateStrategy":{"type":"RollingUpdate"},"volumeClaimTemplates":[{` +
	`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"minReadySeconds":0,"progressDeadlineSeconds":600,"replicas":1,"revisionHistoryLimit":10,"selector":{"matchLabels":{` +
	`"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1},"type":"RollingUpdate"},"template":{"metadata":{"annotations":{"checksum/config":"` +
	`"labels":{}},"spec":{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"labelSelector":{"matchLabels":{"topologyKey":"kubernetes.io/hostname"},"weight":100}]}},` +
	`"automountServiceAccountToken":true,"containers":[{"args":["--config=/etc/","--log-level=info"],"command":["/bin/sh","-c"],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{` +
	`"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}},{"name":"","value":""},{"name":"","valueFrom":{` +
	`"secretKeyRef":{"key":"","name":""}},{"name":"","valueFrom":{"configMapKeyRef":{"key":"","name":""}}],"envFrom":[{"secretRef":{"name":""}}],"image":"registry.k8s.io/","image":"docker.io/",` +
	`"imagePullPolicy":"IfNotPresent","lifecycle":{"preStop":{"exec":{"command":["sleep"` +
	`"livenessProbe":{"failureThreshold":3,"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"initialDelaySeconds":10,"periodSeconds":10,"successThreshold":1,"timeoutSeconds":1},` +
	`"name":"","ports":[{"containerPort":8080,"name":"http","protocol":"TCP"},{"containerPort":9090,"name":"metrics","protocol":"TCP"}],` +
	`"readinessProbe":{"failureThreshold":3,"httpGet":{"path":"/readyz","port":"http"},"initialDelaySeconds":5,"periodSeconds":10,"tcpSocket":{"port":},"exec":{"command":[` +
	`"resources":{"limits":{"cpu":"100m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},` +
	`"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"add":["NET_BIND_SERVICE"],"drop":["ALL"]},"privileged":false,"readOnlyRootFilesystem":true,` +
	`"runAsGroup":1000,"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{"type":"RuntimeDefault"}},"startupProbe":{` +
	`"volumeMounts":[{"mountPath":"/etc/","name":"config","readOnly":true,"subPath":""},{"mountPath":"/tmp","name":"tmp"}]}],"dnsPolicy":"ClusterFirst","hostNetwork":true,` +
	`"imagePullSecrets":[{"name":""}],"initContainers":[{"nodeSelector":{"kubernetes.io/os":"linux"},"priorityClassName":"","restartPolicy":"Always","securityContext":{"fsGroup":1000},` +
	`"serviceAccountName":"default","terminationGracePeriodSeconds":30,"tolerations":[{"effect":"NoSchedule","key":"","operator":"Exists"}],"topologySpreadConstraints":[],` +
	`"volumes":[{"configMap":{"defaultMode":420,"items":[{"key":"","path":""}],"name":""},"name":"config"},{"emptyDir":{},"name":"tmp"},{"name":"","secret":{"optional":true,"secretName":""}}]}}}}`

// dictionaryOfAll is of any object: what Helm sets on all and what a new chart of `helm create` sets.
const dictionaryOfAll = `{"apiVersion":"v1","data":{"ca.crt":"","tls.key":"","password":"","application.yaml":"","config.yaml":"","data":{"value":"` +
	`"},"kind":"Secret","type":"Opaque"}"},"kind":"ConfigMap","metadata":{"annotations":{"helm.sh/resource-policy":"keep","prometheus.io/port":"","prometheus.io/scrape":"true",` +
	`"meta.helm.sh/release-name":"","meta.helm.sh/release-namespace":""},"labels":{"app":"","app.kubernetes.io/component":"","app.kubernetes.io/instance":"",` +
	`"app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"","app.kubernetes.io/part-of":"","app.kubernetes.io/version":"","chart":"","helm.sh/chart":"","heritage":"Helm",` +
	`"release":""},"name":"","namespace":""},"spec":{"selector":{"matchLabels":{"app.kubernetes.io/instance":"","app.kubernetes.io/name":""}},"template":{"metadata":{"labels":{` +
	`"},"kind":"ConfigMap","metadata":{"annotations":{"meta.helm.sh/release-name":"","meta.helm.sh/release-namespace":"default"},"labels":{"app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"`
