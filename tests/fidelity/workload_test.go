package fidelity

import "testing"

const pod = "/spec/template/spec"

// These workloads have no Pods: without replicas, an edit of a template creates none.
func TestShapes_Workloads(t *testing.T) {
	withstand(t, func(*fixture) []shape { return []shape{mergeKeys, emptyKeys, unions, order, odd, twice, numbers} })
}

// emptyKeys declares empty merge keys. A server-side apply (Helm 4) adds a second element of such a key at each
// upgrade, so that only Helm 3 can upgrade it.
var emptyKeys = shape{
	object: "deployments/empty",
	helm:   "helm 3",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: empty, annotations: {note: NOTE}}
spec:
  replicas: 0
  selector: {matchLabels: {app: empty}}
  template:
    metadata: {labels: {app: empty}}
    spec:
      containers:
      - name: main
        image: example.com/main:1
        ports: [{name: web, containerPort: 80, protocol: ""}, {name: dns, containerPort: 53, protocol: UDP}]
`,
	edits: []edit{
		setting("container port", pod+"/containers/0/ports/0/containerPort", "8080"),
		setting("name of a port", pod+"/containers/0/ports/0/name", `"evil"`),
		setting("empty protocol", pod+"/containers/0/ports/0/protocol", `"SCTP"`),
		removing("port", pod+"/containers/0/ports/0"),
		setting("image", pod+"/containers/0/image", `"evil"`),
	},
}

// mergeKeys has lists of all sorts in a Pod's template.
var mergeKeys = shape{
	object: "deployments/keys",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: keys, annotations: {note: NOTE}}
spec:
  replicas: 0
  selector: {matchLabels: {app: keys}}
  template:
    metadata: {labels: {app: keys, tier: one}, annotations: {example.com/template: "true"}}
    spec:
      imagePullSecrets: [{name: one}, {name: two}]
      hostAliases: [{ip: 10.0.0.1, hostnames: [one]}, {ip: 10.0.0.2, hostnames: [two]}]
      tolerations: [{key: one, operator: Exists}, {key: two, operator: Equal, value: x, effect: NoSchedule}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: keys}}}
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: keys}}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd, nvme]}]}]
      initContainers:
      - {name: first, image: "example.com/first:1"}
      - {name: second, image: "example.com/second:1"}
      containers:
      - name: main
        image: example.com/main:1
        args: [--port, "80"]
        ports: [{name: web, containerPort: 80}, {name: dns, containerPort: 53, protocol: UDP}, {name: dns-tcp, containerPort: 53, protocol: TCP}]
        env: [{name: MODE, value: prod}, {name: URL, value: "http://$(MODE)"}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        envFrom: [{configMapRef: {name: one}}, {secretRef: {name: two}}]
        volumeMounts: [{name: tmp, mountPath: /tmp}, {name: config, mountPath: /etc/main, readOnly: true}]
      - name: side
        image: example.com/side:1
        ports: [{containerPort: 81}]
      volumes: [{name: tmp, emptyDir: {}}, {name: config, configMap: {name: one, items: [{key: a, path: b}]}}]
`,
	edits: []edit{
		setting("container port", pod+"/containers/0/ports/0/containerPort", "8080"),
		setting("container port without name", pod+"/containers/1/ports/0/containerPort", "8080"),
		setting("name of a container port", pod+"/containers/0/ports/0/name", `"evil"`),
		setting("protocol that was defaulted", pod+"/containers/1/ports/0/protocol", `"UDP"`),
		{name: "one number, the other protocol", patch: ops(del(pod + "/containers/0/ports/2"))},
		setting("number of one of two protocols", pod+"/containers/0/ports/1/containerPort", "54"),
		setting("name of a container", pod+"/containers/0/name", `"evil"`),
		setting("name of the other container", pod+"/containers/1/name", `"evil"`),
		setting("name of an init container", pod+"/initContainers/1/name", `"evil"`),
		setting("name of a variable", pod+"/containers/0/env/0/name", `"EVIL"`),
		{name: "name of a volume and its mount", patch: ops(set(pod+"/volumes/0/name", `"evil"`),
			set(pod+"/containers/0/volumeMounts/0/name", `"evil"`))},
		setting("path of a mount", pod+"/containers/0/volumeMounts/1/mountPath", `"/evil"`),
		setting("key of a toleration", pod+"/tolerations/0/key", `"evil"`),
		setting("key of a spread constraint", pod+"/topologySpreadConstraints/0/topologyKey", `"evil"`),
		removing("spread constraint", pod+"/topologySpreadConstraints/1"),
		setting("selector of a spread constraint", pod+"/topologySpreadConstraints/1/labelSelector/matchLabels",
			`{"app":"evil"}`),
		setting("name of a pull secret", pod+"/imagePullSecrets/0/name", `"evil"`),
		setting("address of a host alias", pod+"/hostAliases/1/ip", `"10.6.6.6"`),
		setting("host name", pod+"/hostAliases/1/hostnames/0", `"evil"`),
		setting("value in an affinity",
			pod+"/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0/values/0", `"hdd"`),
		setting("name in envFrom", pod+"/containers/0/envFrom/0/configMapRef/name", `"evil"`),
		setting("item of a volume", pod+"/volumes/1/configMap/items/0/path", `"evil"`),
		setting("argument", pod+"/containers/0/args/1", `"81"`),
		{name: "further argument", patch: ops(add(pod+"/containers/0/args/-", `"--evil"`))},
		removing("container", pod+"/containers/1"),
		removing("init container", pod+"/initContainers/0"),
		removing("all init containers", pod+"/initContainers"),
		removing("variable", pod+"/containers/0/env/0"),
		removing("all variables", pod+"/containers/0/env"),
		removing("port", pod+"/containers/0/ports/0"),
		removing("toleration", pod+"/tolerations/1"),
		removing("pull secret", pod+"/imagePullSecrets/1"),
		{name: "volume and its mount", patch: ops(del(pod+"/volumes/0"), del(pod+"/containers/0/volumeMounts/0"))},
		setting("label of the template", "/spec/template/metadata/labels/tier", `"two"`),
		removing("label of the template", "/spec/template/metadata/labels/tier"),
		setting("annotation of the template", "/spec/template/metadata/annotations/example.com~1template", `"false"`),
		removing("all annotations of the template", "/spec/template/metadata/annotations"),
		setting("note", "/metadata/annotations/note", `"evil"`),
		{name: "order of volumes", helm: "helm 3",
			patch: ops(move(pod+"/volumes/0", pod+"/volumes/1"), set("/metadata/annotations/note", `"evil"`)),
			stays: ops(move(pod+"/volumes/0", pod+"/volumes/1"))},
		{name: "order of ports", helm: "helm 3", patch: ops(move(pod+"/containers/0/ports/0", pod+
			"/containers/0/ports/2"), set("/metadata/annotations/note", `"evil"`)),
			stays: ops(move(pod+"/containers/0/ports/0", pod+"/containers/0/ports/2"))},
		{name: "order of mounts", helm: "helm 3", patch: ops(move(pod+"/containers/0/volumeMounts/0", pod+
			"/containers/0/volumeMounts/1"), set(pod+"/containers/0/image", `"evil"`)),
			stays: ops(move(pod+"/containers/0/volumeMounts/0", pod+"/containers/0/volumeMounts/1"))},
		setting("replicas", "/spec/replicas", "1"),
		{name: "container taken out by a directive", kind: "application/strategic-merge-patch+json",
			patch: `{"spec":{"template":{"spec":{"containers":[{"$patch":"delete","name":"side"}]}}}}`},
		{name: "variables replaced by a directive", kind: "application/strategic-merge-patch+json",
			patch: `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"$patch":"replace"},{"name":"MODE","value":"evil"}]}]}}}}`},
		{name: "volume with retainKeys", kind: "application/strategic-merge-patch+json",
			patch: `{"spec":{"template":{"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"tmp","hostPath":{"path":"/"}}]}}}}`},
		{name: "order of containers by a directive", kind: "application/strategic-merge-patch+json",
			patch: `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"side"},{"name":"main"}]}}}}`},
	},
}

// unions has fields that exclude each other.
var unions = shape{
	object: "deployments/unions",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: unions, annotations: {note: NOTE}}
spec:
  replicas: 0
  strategy: {type: Recreate}
  selector: {matchLabels: {app: unions}}
  template:
    metadata: {labels: {app: unions}}
    spec:
      securityContext: {seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: example.com/main:1
        env: [{name: PLAIN, value: x}, {name: EMPTY, value: ""}, {name: REF, valueFrom: {secretKeyRef: {name: one, key: a}}}]
        livenessProbe: {httpGet: {path: /, port: 80}}
        readinessProbe: {tcpSocket: {port: web}}
        lifecycle: {preStop: {exec: {command: [stop]}}}
        volumeMounts: [{name: tmp, mountPath: /tmp}, {name: some, mountPath: /some}]
      volumes: [{name: tmp, emptyDir: {}}, {name: some, secret: {secretName: one}}, {name: sized, emptyDir: {sizeLimit: 1024Mi}}]
`,
	edits: []edit{
		{name: "emptyDir to hostPath", patch: ops(del(pod+"/volumes/0/emptyDir"),
			add(pod+"/volumes/0/hostPath", `{"path":"/"}`))},
		{name: "emptyDir with a size to hostPath",
			patch: ops(del(pod+"/volumes/2/emptyDir"), add(pod+"/volumes/2/hostPath", `{"path":"/"}`))},
		setting("size of a volume", pod+"/volumes/2/emptyDir/sizeLimit", `"1025Mi"`),
		removing("size of a volume", pod+"/volumes/2/emptyDir/sizeLimit"),
		{name: "Secret to ConfigMap", patch: ops(del(pod+"/volumes/1/secret"),
			add(pod+"/volumes/1/configMap", `{"name":"evil"}`))},
		{name: "value to valueFrom", patch: ops(del(pod+"/containers/0/env/0/value"),
			add(pod+"/containers/0/env/0/valueFrom", `{"configMapKeyRef":{"name":"evil","key":"a"}}`))},
		{name: "empty value to valueFrom", patch: ops(add(pod+"/containers/0/env/1/valueFrom",
			`{"configMapKeyRef":{"name":"evil","key":"a"}}`))},
		{name: "valueFrom to value", patch: ops(del(pod+"/containers/0/env/2/valueFrom"),
			add(pod+"/containers/0/env/2/value", `"evil"`))},
		{name: "valueFrom of another sort", patch: ops(set(pod+"/containers/0/env/2/valueFrom",
			`{"fieldRef":{"fieldPath":"spec.nodeName"}}`))},
		{name: "httpGet to exec", patch: ops(del(pod+"/containers/0/livenessProbe/httpGet"),
			add(pod+"/containers/0/livenessProbe/exec", `{"command":["evil"]}`))},
		{name: "tcpSocket to grpc", patch: ops(del(pod+"/containers/0/readinessProbe/tcpSocket"),
			add(pod+"/containers/0/readinessProbe/grpc", `{"port":80}`))},
		{name: "exec to httpGet", patch: ops(set(pod+"/containers/0/lifecycle/preStop", `{"httpGet":{"port":80}}`))},
		removing("probe", pod+"/containers/0/livenessProbe"),
		setting("port of a probe", pod+"/containers/0/livenessProbe/httpGet/port", `"web"`),
		setting("port of a probe to a number", pod+"/containers/0/readinessProbe/tcpSocket/port", "80"),
		{name: "Recreate to RollingUpdate", patch: ops(set("/spec/strategy",
			`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":2,"maxUnavailable":"10%"}}`))},
		{name: "no strategy", patch: ops(del("/spec/strategy"))},
		{name: "RuntimeDefault to Localhost", patch: ops(set(pod+"/securityContext/seccompProfile",
			`{"type":"Localhost","localhostProfile":"evil"}`))},
		{name: "null in place of a volume source",
			patch: `{"spec":{"template":{"spec":{"securityContext":{"seccompProfile":null}}}}}`},
	},
}

// order has lists with a significant order.
var order = shape{
	object: "deployments/order",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: order, annotations: {note: NOTE}}
spec:
  replicas: 0
  selector: {matchLabels: {app: order}}
  template:
    metadata: {labels: {app: order}}
    spec:
      initContainers:
      - {name: migrate, image: "example.com/migrate:1"}
      - {name: warm, image: "example.com/warm:1"}
      - {name: seed, image: "example.com/seed:1"}
      containers:
      - name: main
        image: example.com/main:1
        command: [sh, -c]
        args: [--first, --second, --third]
        env: [{name: A, value: a}, {name: B, value: "$(A)"}, {name: C, value: "$(B)"}]
      - {name: side, image: "example.com/side:1"}
`,
	edits: []edit{
		{name: "init containers", patch: ops(move(pod+"/initContainers/0", pod+"/initContainers/2"))},
		{name: "containers", patch: ops(move(pod+"/containers/1", pod+"/containers/0"))},
		{name: "variables", patch: ops(move(pod+"/containers/0/env/2", pod+"/containers/0/env/0"))},
		{name: "arguments", patch: ops(move(pod+"/containers/0/args/0", pod+"/containers/0/args/2"))},
		{name: "command", patch: ops(move(pod+"/containers/0/command/0", pod+"/containers/0/command/1"))},
		{name: "order and content", patch: ops(move(pod+"/initContainers/0", pod+"/initContainers/1"),
			set(pod+"/initContainers/0/image", `"evil"`))},
		{name: "order and a missing one", patch: ops(move(pod+"/initContainers/0", pod+"/initContainers/2"),
			del(pod+"/initContainers/0"))},
		{name: "order of containers before a further one", helm: "helm 3",
			patch: ops(add(pod+"/containers/-", `{"name":"further","image":"x"}`),
				move(pod+"/containers/1", pod+"/containers/0")),
			stays: ops(add(pod+"/containers/-", `{"name":"further","image":"x"}`))},
		{name: "one in front of all", patch: ops(set(pod+"/initContainers/0/name", `"evil"`))},
	},
}
