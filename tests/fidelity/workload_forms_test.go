package fidelity

// odd has fields that the API server stores in another form than the declared one.
var odd = shape{
	object: "deployments/odd", helm: "helm 3",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: odd, annotations: {note: NOTE}}
spec:
  replicas: 0
  progressDeadlineSeconds: null
  unknown: {not: known}
  selector: {matchLabels: {app: odd}}
  strategy: {}
  template:
    metadata: {labels: {app: odd}, annotations: null, creationTimestamp: null}
    spec:
      nodeSelector: {}
      volumes: []
      containers:
      - name: main
        image: example.com/main:1
        imagePullPolicie: Always
        args: [null, "--x", null]
        env: [{name: OTHER, value: x}, {name: EMPTY, value: ""}, {name: "NULL", value: null}]
        resources: {limits: {}, requests: null}
        securityContext: {}
`,
	edits: []edit{
		setting("image beside an unknown field", pod+"/containers/0/image", `"evil"`),
		setting("argument beside null", pod+"/containers/0/args/1", `"--evil"`),
		setting("argument that was null", pod+"/containers/0/args/0", `"--evil"`),
		{name: "empty value", patch: ops(add(pod+"/containers/0/env/1/value", `"evil"`))},
		setting("name of the variable with an empty value", pod+"/containers/0/env/1/name", `"EVIL"`),
	},
}

// twice has two variables of one name; the last one is active. An upgrade that changes it makes Helm 3 store them in
// another order than declared, so none does here.
var twice = shape{
	object: "deployments/twice", helm: "helm 3", static: true,
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: twice}
spec:
  replicas: 0
  selector: {matchLabels: {app: twice}}
  template:
    metadata: {labels: {app: twice}}
    spec: {containers: [{name: main, image: "example.com/main:1", env: [{name: TWICE, value: one}, {name: OTHER, value: x}, {name: TWICE, value: two}]}]}
`,
	edits: []edit{
		setting("first of two variables of one name", pod+"/containers/0/env/0/value", `"evil"`),
		setting("second of two variables of one name", pod+"/containers/0/env/2/value", `"evil"`),
		removing("second of two variables of one name", pod+"/containers/0/env/2"),
		removing("first of two variables of one name", pod+"/containers/0/env/0"),
		{name: "third variable of that name", patch: ops(add(pod+"/containers/0/env/-", `{"name":"TWICE","value":"evil"}`))},
		{name: "order of two variables of one name", patch: ops(move(pod+"/containers/0/env/0", pod+"/containers/0/env/2"))},
	},
}

// numbers has quantities and numbers in forms that the API server changes, and lists with elements that it completes.
var numbers = shape{
	object: "deployments/numbers",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: numbers, annotations: {note: NOTE, yes: "a key that YAML takes for true", quoted: "true", float: "1.0", "null": "null"}, labels: {empty: ""}}
spec:
  replicas: 0
  minReadySeconds: 0
  paused: false
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  selector: {matchLabels: {app: numbers}}
  template:
    metadata: {labels: {app: numbers}}
    spec:
      terminationGracePeriodSeconds: 1e1
      hostPID: false
      automountServiceAccountToken: false
      containers:
      - name: main
        image: example.com/main:1
        resources: {limits: {cpu: 1000m, memory: 1024Mi, ephemeral-storage: 1e3}, requests: {cpu: 0.5, memory: "134217728"}}
        ports: [{containerPort: 80}, {containerPort: 81, hostPort: 0}]
        livenessProbe: {httpGet: {path: /, port: 80}, initialDelaySeconds: 0}
        startupProbe: {exec: {command: ["true"]}, failureThreshold: 30}
        volumeMounts: [{name: tmp, mountPath: /tmp, readOnly: false, subPath: ""}]
      volumes: [{name: tmp, emptyDir: {medium: ""}}, {name: projected, projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: one}}]}}]
`,
	edits: []edit{
		setting("cpu limit", pod+"/containers/0/resources/limits/cpu", `"1001m"`),
		setting("memory limit", pod+"/containers/0/resources/limits/memory", `"1025Mi"`),
		setting("storage limit", pod+"/containers/0/resources/limits/ephemeral-storage", `"1Gi"`),
		setting("cpu request", pod+"/containers/0/resources/requests/cpu", `"0.25"`),
		setting("memory request", pod+"/containers/0/resources/requests/memory", `"128M"`),
		removing("requests", pod+"/containers/0/resources/requests"),
		removing("resources", pod+"/containers/0/resources"),
		setting("grace period", pod+"/terminationGracePeriodSeconds", "11"),
		removing("grace period, which is then defaulted", pod+"/terminationGracePeriodSeconds"),
		setting("percentage", "/spec/strategy/rollingUpdate/maxSurge", `"26%"`),
		setting("percentage to number", "/spec/strategy/rollingUpdate/maxSurge", "25"),
		setting("number to percentage", "/spec/strategy/rollingUpdate/maxUnavailable", `"1%"`),
		{name: "false to true", patch: ops(add(pod+"/hostPID", "true"))},
		{name: "pointer to false", patch: ops(set(pod+"/automountServiceAccountToken", "true"))},
		removing("pointer to false", pod+"/automountServiceAccountToken"),
		{name: "delay of zero", patch: ops(add(pod+"/containers/0/livenessProbe/initialDelaySeconds", "5"))},
		setting("threshold", pod+"/containers/0/startupProbe/failureThreshold", "31"),
		removing("threshold, which is then defaulted", pod+"/containers/0/startupProbe/failureThreshold"),
		{name: "paused", patch: `{"spec":{"paused":true}}`},
		{name: "empty label", patch: `{"metadata":{"labels":{"empty":"no-more"}}}`},
		{name: "no empty label", patch: `{"metadata":{"labels":{"empty":null}}}`},
		{name: "quoted boolean", patch: `{"metadata":{"annotations":{"quoted":"false"}}}`},
		{name: "boolean key", patch: `{"metadata":{"annotations":{"true":null}}}`},
		{name: "quoted number", patch: `{"metadata":{"annotations":{"float":"1"}}}`},
		{name: "quoted null", patch: `{"metadata":{"annotations":{"null":null}}}`},
		{name: "read only", patch: ops(add(pod+"/containers/0/volumeMounts/0/readOnly", "true"))},
		{name: "medium", patch: ops(add(pod+"/volumes/0/emptyDir/medium", `"Memory"`))},
		setting("projected source", pod+"/volumes/1/projected/sources/0/serviceAccountToken/path", `"evil"`),
		removing("projected source", pod+"/volumes/1/projected/sources/0"),
	},
}
