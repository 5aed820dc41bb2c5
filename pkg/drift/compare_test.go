package drift

import (
	"strings"
	"testing"
)

// edit is a sequence of old, new replacements in the YAML of the live object, each of which must match once.
type edit []string

func (e edit) apply(t *testing.T, text string) string {
	t.Helper()
	for i := 0; i < len(e); i += 2 {
		if strings.Count(text, e[i]) != 1 {
			t.Fatalf("%q is in the object %d times", e[i], strings.Count(text, e[i]))
		}
		text = strings.Replace(text, e[i], e[i+1], 1)
	}
	return text
}

func TestDeployment(t *testing.T) {
	const pod = "/spec/template/spec"
	for name, tc := range map[string]struct {
		edit    edit
		want    []string
		foreign bool
		target  edit // what the target is, as an edit of the untampered live object; empty: that object itself
	}{
		"defaults, status and server-owned metadata are no drift": {},
		"a changed replica count is put back": {
			edit: edit{"replicas: 2\n  sel", "replicas: 5\n  sel"},
			want: []string{"Modified /spec/replicas"},
		},
		"a removed label is put back beside foreign ones": {
			edit: edit{"Helm, app: web, team", "Helm, team"},
			want: []string{"Removed /metadata/labels/app"},
		},
		"removed ownership annotations are found by escaped paths": {
			edit: edit{"meta.helm.sh/release-name: web, ", ""},
			want: []string{"Removed /metadata/annotations/meta.helm.sh~1release-name"},
		},
		"labels that are all gone come back as a whole": {
			edit:   edit{"\n  labels: {app.kubernetes.io/managed-by: Helm, app: web, team: blue}", ""},
			want:   []string{"Removed /metadata/labels"},
			target: edit{", team: blue", ""},
		},
		"a foreign label, annotation and sidecar stay": {
			edit: edit{"team: blue", "team: red, more: x", "      - name: proxy\n", "      - {name: sidecar, image: x}\n      - name: proxy\n"},
		},
		"an image is put back and the defaults of its container stay": {
			edit: edit{"image: web:1\n        imagePull", "image: evil:1\n        imagePull"},
			want: []string{"Modified " + pod + "/containers/0/image"},
		},
		"a removed container comes back at its place, before a foreign one that was appended": {
			edit: edit{"      - name: proxy\n        image: proxy:3\n        imagePullPolicy: IfNotPresent\n        ports: [{containerPort: 8443, protocol: TCP}]\n        resources: {}\n",
				"      - {name: x, image: x}\n      - {name: y, image: y}\n"},
			want: []string{"Removed " + pod + "/containers/1"},
			target: edit{"        imagePullPolicy: IfNotPresent\n        ports: [{containerPort: 8443, protocol: TCP}]\n        resources: {}\n",
				"        ports: [{containerPort: 8443}]\n      - {name: x, image: x}\n      - {name: y, image: y}\n"},
		},
		"a renamed container is renamed back and keeps what others set in it": {
			edit:    edit{"      - name: proxy\n        image: proxy:3\n", "      - name: other\n        image: proxy:3\n        tty: true\n"},
			want:    []string{"Added " + pod + "/containers/1", "Removed " + pod + "/containers/1"},
			foreign: true,
			target:  edit{"image: proxy:3\n", "image: proxy:3\n        tty: true\n"},
		},
		"swapped init containers are put in order": {
			edit: edit{"{name: migrate, image: web:1, command: [migrate, --all], resources: {}, imagePullPolicy: IfNotPresent}\n      - {name: warm, image: web:1, resources: {}, imagePullPolicy: IfNotPresent}",
				"{name: warm, image: web:1, resources: {}, imagePullPolicy: IfNotPresent}\n      - {name: injected}\n      - {name: migrate, image: web:1, command: [migrate, --all], resources: {}, imagePullPolicy: IfNotPresent}"},
			want:   []string{"Modified " + pod + "/initContainers"},
			target: edit{"      - {name: warm,", "      - {name: injected}\n      - {name: warm,"},
		},
		"swapped volumes are no drift, since their order means nothing": {
			edit: edit{"{name: tmp, emptyDir: {}}\n      - {name: config, configMap: {name: web, defaultMode: 420}}",
				"{name: config, configMap: {name: web, defaultMode: 420}}\n      - {name: tmp, emptyDir: {}}"},
		},
		"a variable that moved behind its use is put in order": {
			edit: edit{"        - name: POD\n          valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}\n        - {name: URL, value: http://$(POD)}\n",
				"        - {name: URL, value: http://$(POD)}\n        - name: POD\n          valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}\n"},
			want: []string{"Modified " + pod + "/containers/0/env"},
		},
		"a renamed variable is renamed back": {
			edit:    edit{"name: MODE", "name: MOOD"},
			want:    []string{"Added " + pod + "/containers/0/env/0", "Removed " + pod + "/containers/0/env/0"},
			foreign: true,
		},
		"a second variable of a declared name overrides it and goes": {
			edit:    edit{"value: http://$(POD)}\n", "value: http://$(POD)}\n        - {name: MODE, value: debug}\n"},
			want:    []string{"Added " + pod + "/containers/0/env/4"},
			foreign: true,
		},
		"a variable's value that was replaced by a reference loses the reference": {
			edit:    edit{"{name: MODE, value: prod}", "{name: MODE, valueFrom: {fieldRef: {fieldPath: x}}}"},
			want:    []string{"Removed " + pod + "/containers/0/env/0/value", "Added " + pod + "/containers/0/env/0/valueFrom"},
			foreign: true,
		},
		"an empty value that was replaced by a reference is not taken for the empty value that the server drops": {
			edit:    edit{"{name: EMPTY}", "{name: EMPTY, valueFrom: {fieldRef: {fieldPath: x}}}"},
			want:    []string{"Removed " + pod + "/containers/0/env/1/value", "Added " + pod + "/containers/0/env/1/valueFrom"},
			foreign: true,
			target:  edit{"{name: EMPTY}", `{name: EMPTY, value: ""}`},
		},
		"an empty value that got one is emptied": {
			edit:   edit{"{name: EMPTY}", "{name: EMPTY, value: x}"},
			want:   []string{"Modified " + pod + "/containers/0/env/1/value"},
			target: edit{"{name: EMPTY}", `{name: EMPTY, value: ""}`},
		},
		"an emptyDir that became a hostPath is an emptyDir again, and only that": {
			edit:    edit{"{name: tmp, emptyDir: {}}", "{name: tmp, hostPath: {path: /}}"},
			want:    []string{"Removed " + pod + "/volumes/0/emptyDir", "Added " + pod + "/volumes/0/hostPath"},
			foreign: true,
		},
		"a probe of another sort is replaced and keeps its defaults": {
			edit:    edit{"{httpGet: {path: /healthz, port: http, scheme: HTTP}, periodS", "{tcpSocket: {port: 1}, periodS"},
			want:    []string{"Removed " + pod + "/containers/0/livenessProbe/httpGet", "Added " + pod + "/containers/0/livenessProbe/tcpSocket"},
			foreign: true,
			target:  edit{", scheme: HTTP", ""},
		},
		"a changed strategy takes its dependent settings along": {
			edit:    edit{"strategy: {type: Recreate}", "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}"},
			want:    []string{"Added /spec/strategy/rollingUpdate", "Modified /spec/strategy/type"},
			foreign: true,
		},
		"an edited port is one port again, and UDP and TCP on one number are two": {
			edit:    edit{"{name: dns, containerPort: 53, protocol: UDP}", "{name: dns, containerPort: 54, protocol: UDP}"},
			want:    []string{"Added " + pod + "/containers/0/ports/1", "Removed " + pod + "/containers/0/ports/1"},
			foreign: true,
		},
		"a port that turned UDP although TCP is only the default is restored as TCP": {
			edit:    edit{"{name: http, containerPort: 80, protocol: TCP}", "{name: http, containerPort: 80, protocol: UDP}"},
			want:    []string{"Added " + pod + "/containers/0/ports/0", "Removed " + pod + "/containers/0/ports/0"},
			foreign: true,
		},
		"an argument that was added to an atomic list goes": {
			edit: edit{`args: [--port, "80"]`, `args: [--port, "80", --debug]`},
			want: []string{"Modified " + pod + "/containers/0/args"},
		},
		"a swapped atomic list is put in order, with what the server added": {
			edit: edit{"{key: dedicated, operator: Exists}\n      - {key: spot, operator: Exists, effect: NoSchedule}",
				"{key: spot, operator: Exists, effect: NoSchedule, added: 1}\n      - {key: dedicated, operator: Exists}"},
			want:   []string{"Modified " + pod + "/tolerations"},
			target: edit{"effect: NoSchedule}", "effect: NoSchedule, added: 1}"},
		},
		"an element that was tampered with inside of an atomic list is reported by its field": {
			edit: edit{"key: spot", "key: spotty"},
			want: []string{"Modified " + pod + "/tolerations/1/key"},
		},
		"a limit that lost its map comes back": {
			edit: edit{"{limits: {cpu: \"1\", memory: 1Gi}}", "{}"},
			want: []string{"Removed " + pod + "/containers/0/resources/limits"},
		},
		"a lost empty securityContext is drift, since the server keeps it": {
			edit: edit{"      securityContext: {}\n", ""},
			want: []string{"Removed " + pod + "/securityContext"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, live := obj(t, deployment), obj(t, tc.edit.apply(t, deploymentLive))
			r := checkRestores(t, desired, live, Options{Schema: schemaOf(schemas(t), desired)})
			sameChanges(t, r.Changes, tc.want...)
			if r.RemovesForeign != tc.foreign {
				t.Errorf("RemovesForeign is %v", r.RemovesForeign)
			}
			if want := obj(t, tc.target.apply(t, deploymentLive)); len(tc.want) > 0 && !deepEqual(r.Target, want) {
				t.Errorf("target:\n got  %v\n want %v", r.Target, want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		desired, live string
		want          []string
		foreign       bool
		target        string
	}{
		"a custom resource's lists are atomic even when they look like keyed ones": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {containers: [{name: a}]}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {containers: [{name: a, v: 1}, {name: b}]}}`,
			want:    []string{"Modified /spec/containers"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {containers: [{name: a, v: 1}]}}`,
		},
		"a custom resource's finalizers are those of any object": {
			desired: `{apiVersion: x.io/v1, kind: X, metadata: {finalizers: [a, b]}}`,
			live:    `{apiVersion: x.io/v1, kind: X, metadata: {finalizers: [z, b]}}`,
			want:    []string{"Removed /metadata/finalizers/0"},
			target:  `{apiVersion: x.io/v1, kind: X, metadata: {finalizers: [z, a, b]}}`,
		},
		"a custom resource keeps zero values, so losing one is drift": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {yes1: false, num: 0, s: "", m: {}, l: []}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {}}`,
			want:    []string{"Removed /spec/l", "Removed /spec/m", "Removed /spec/num", "Removed /spec/s", "Removed /spec/yes1"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {yes1: false, num: 0, s: "", m: {}, l: []}}`,
		},
		"empty labels, annotations and data are dropped by the server": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {}, annotations: {}}, data: {}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {}}`,
		},
		"a null is as good as nothing": {
			desired: `{apiVersion: v1, kind: ConfigMap, data: {a: x}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, data: null}`,
			want:    []string{"Removed /data"},
			target:  `{apiVersion: v1, kind: ConfigMap, data: {a: x}}`,
		},
		"zero replicas are not the default": {
			desired: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}`,
			live:    `{apiVersion: apps/v1, kind: Deployment, spec: {}}`,
			want:    []string{"Removed /spec/replicas"},
			target:  `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}`,
		},
		"numbers are equal by value, and differ from text": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {a: 1.0, b: 1, c: 1}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {a: 1, b: 1.0, c: "1"}}`,
			want:    []string{"Modified /spec/c"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {a: 1, b: 1.0, c: 1}}`,
		},
		"large integers are compared exactly": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {a: 9007199254740993}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {a: 9007199254740992}}`,
			want:    []string{"Modified /spec/a"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {a: 9007199254740993}}`,
		},
		"a service port that was edited keeps its node port and is not doubled": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{port: 81, protocol: TCP, nodePort: 30080}]}}`,
			want:    []string{"Added /spec/ports/0", "Removed /spec/ports/0"},
			foreign: true,
			target:  `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP, nodePort: 30080}]}}`,
		},
		"a foreign port stays while a declared one is put right": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{name: a, port: 80, targetPort: 80}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{name: x, port: 9, targetPort: 9}, {name: a, port: 80, targetPort: 1}]}}`,
			want:    []string{"Modified /spec/ports/0/targetPort"},
			target:  `{apiVersion: v1, kind: Service, spec: {ports: [{name: x, port: 9, targetPort: 9}, {name: a, port: 80, targetPort: 80}]}}`,
		},
		"the same port for TCP and UDP is two ports": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}}`,
		},
		"a port that shares its name with the missing one replaced it, however little else they have in common": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{name: a, port: 1, targetPort: 1, appProtocol: x}, {name: b, port: 2}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{name: b, port: 2}, {name: f, port: 7}, {name: a, port: 9, targetPort: 9}]}}`,
			want:    []string{"Removed /spec/ports/0", "Added /spec/ports/2"},
			foreign: true,
			target:  `{apiVersion: v1, kind: Service, spec: {ports: [{name: a, port: 1, targetPort: 1, appProtocol: x}, {name: b, port: 2}, {name: f, port: 7}]}}`,
		},
		"a rewritten element at its index in a list of the same length is replaced": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{name: a, port: 1, targetPort: 1}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{name: b, port: 2, targetPort: 2, nodePort: 3}]}}`,
			want:    []string{"Added /spec/ports/0", "Removed /spec/ports/0"},
			foreign: true,
			target:  `{apiVersion: v1, kind: Service, spec: {ports: [{name: a, port: 1, targetPort: 1}]}}`,
		},
		"topology constraints on one key for two policies are two": {
			desired: `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}, {topologyKey: z, whenUnsatisfiable: ScheduleAnyway, maxSkew: 2}]}}`,
			live:    `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: ScheduleAnyway, maxSkew: 2}, {topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}}`,
		},
		"duplicated variables are matched with each other": {
			desired: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}}`,
			live:    `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "3"}]}]}}`,
			want:    []string{"Modified /spec/containers/0/env/1/value"},
			target:  `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}}`,
		},
		"a disruption budget of the other sort is no valid one with both": {
			desired: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1}}`,
			live:    `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 1}}`,
			want:    []string{"Added /spec/maxUnavailable", "Removed /spec/minAvailable"},
			foreign: true,
			target:  `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1}}`,
		},
		"a role's rule is restored as a whole": {
			desired: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			live:    `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [get, delete]}]}`,
			want:    []string{"Modified /rules/0/verbs"},
			target:  `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
		},
		"a value of another type is replaced": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {a: {b: 1}, c: [1]}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {a: b, c: {d: 1}}}`,
			want:    []string{"Modified /spec/a", "Modified /spec/c"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {a: {b: 1}, c: [1]}}`,
		},
		"identity, status and what the server owns are not compared": {
			desired: `{apiVersion: v1, kind: Pod, metadata: {name: a, uid: x, creationTimestamp: y}, status: {phase: x}}`,
			live:    `{metadata: {name: b}}`,
		},
		"tilde and slash in keys are escaped": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {a/b~c: 1}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {a/b~c: 2}}`,
			want:    []string{"Modified /spec/a~1b~0c"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {a/b~c: 1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, live := obj(t, tc.desired), obj(t, tc.live)
			r := checkRestores(t, desired, live, Options{Schema: schemaOf(schemas(t), desired)})
			sameChanges(t, r.Changes, tc.want...)
			if r.RemovesForeign != tc.foreign {
				t.Errorf("RemovesForeign is %v", r.RemovesForeign)
			}
			if tc.target != "" && !deepEqual(r.Target, obj(t, tc.target)) {
				t.Errorf("target:\n got  %v\n want %v", r.Target, obj(t, tc.target))
			}
		})
	}
}

func TestTargetSharesNothingWithDesired(t *testing.T) {
	desired := obj(t, `{spec: {a: {b: [1]}}}`)
	r := Compare(desired, map[string]any{}, Options{})
	at(r.Target, "spec", "a").(map[string]any)["b"] = "written by the caller"
	if !deepEqual(desired, obj(t, `{spec: {a: {b: [1]}}}`)) {
		t.Error("a write to the target reached the desired object")
	}
}
