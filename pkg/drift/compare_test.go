package drift

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// comparison is one comparison in scope Declared.
type comparison struct {
	desired, live string
	with          func(*Options)
	want          []string
	foreign       bool
	target        string
}

func (tc comparison) run(t *testing.T) {
	t.Helper()
	desired, live := obj(t, tc.desired), obj(t, tc.live)
	opt := Options{Schema: schemaOf(schemas(t), desired)}
	if tc.with != nil {
		tc.with(&opt)
	}
	r := checkRestores(t, desired, live, opt)
	sameChanges(t, r.Changes, tc.want...)
	check.Equal(t, r.RemovesForeign, tc.foreign, "RemovesForeign")
	if tc.target != "" && len(tc.want) > 0 && !deepEqual(r.Target, obj(t, tc.target)) {
		t.Errorf("target:\n got  %v\n want %v", r.Target, obj(t, tc.target))
	}
	opt.Accepted = Learn(desired, live, opt)
	sameChanges(t, Compare(desired, live, opt).Changes)
}

func TestCompare(t *testing.T) {
	const ports = `{apiVersion: v1, kind: Service, spec: {ports: [`
	const dnsPorts = `{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}`
	for name, tc := range map[string]comparison{
		"a custom resource's lists are atomic even when they look like keyed ones": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {containers: [{name: a}]}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {containers: [{name: a, v: 1}, {name: b}]}}`,
			want:    []string{"Modified /spec/containers"},
			foreign: true, // the API server may merge it
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
		"an empty merge key of a built-in kind is the API server's choice": {
			desired: `{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: [{name: ""}], containers: [
				{name: a, ports: [{name: web, containerPort: 80, protocol: ""}]}]}}`,
			live: `{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: [{}], containers: [
				{name: a, ports: [{name: web, containerPort: 80, protocol: TCP}]}]}}`,
			want: []string{"Modified /spec/containers/0/ports/0/protocol"}, // a dry run shows that it is none
			target: `{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: [{}], containers: [
				{name: a, ports: [{name: web, containerPort: 80, protocol: ""}]}]}}`,
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
		"the same port for TCP and UDP is two ports, in their order": {
			desired: `{apiVersion: v1, kind: Service, spec: {ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}}`,
			live:    `{apiVersion: v1, kind: Service, spec: {ports: [{name: t, port: 53, protocol: TCP}, {name: u, port: 53, protocol: UDP}]}}`,
			want:    []string{"Modified /spec/ports"},
			target:  `{apiVersion: v1, kind: Service, spec: {ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53, protocol: TCP}]}}`,
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
		"topology constraints on one key for two policies are two, in their order": {
			desired: `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}, {topologyKey: z, whenUnsatisfiable: ScheduleAnyway, maxSkew: 2}]}}`,
			live:    `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: ScheduleAnyway, maxSkew: 2}, {topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}}`,
			want:    []string{"Modified /spec/topologySpreadConstraints"},
			target:  `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}, {topologyKey: z, whenUnsatisfiable: ScheduleAnyway, maxSkew: 2}]}}`,
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
		"a whole list of a custom resource, of which it is not known whether the API server merges it": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {list: [{name: a}], size: 1}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {list: [{name: evil}], size: 1}}`,
			want:    []string{"Modified /spec/list/0/name"},
			foreign: true,
			target:  `{apiVersion: x.io/v1, kind: X, spec: {list: [{name: a}], size: 1}}`,
		},
		"a field beside a list of a custom resource to whose element others added": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {list: [{name: a}], size: 1}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {list: [{name: a, kind: plain}], size: 2}}`,
			want:    []string{"Modified /spec/size"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {list: [{name: a, kind: plain}], size: 1}}`,
		},
		"a list that an apply merges is one value, since Warn beside Deny is invalid": {
			desired: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {validationActions: [Deny, Audit]}}`,
			live:    `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {validationActions: [Warn, Audit]}}`,
			want:    []string{"Modified /spec/validationActions"},
			foreign: true,
			target:  `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {validationActions: [Deny, Audit]}}`,
		},
		"a finalizer of a controller in the place of a declared one is no edit": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {finalizers: [example.com/a]}}`,
			live:    `{apiVersion: v1, kind: ConfigMap, metadata: {finalizers: [example.com/other]}}`,
			want:    []string{"Removed /metadata/finalizers/0"},
		},
		"live elements of one key move together, and the first of them is compared": {
			desired: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c}, {name: b}, {name: a}]}}`,
			live:    `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: first}, {name: a, image: second}, {name: b}, {name: c}]}}`,
			want:    []string{"Modified /spec/containers"},
		},
		"ports of one number in their order, after another one that moved": {
			desired: ports + `{name: http, port: 80}, ` + dnsPorts + `]}}`,
			live:    ports + dnsPorts + `, {name: http, port: 80}]}}`,
		},
		"ports of one number in another order, by which Helm 3 would pair them wrongly": {
			desired: ports + `{name: http, port: 80}, ` + dnsPorts + `]}}`,
			live:    ports + `{name: http, port: 80}, {name: dns-tcp, port: 53, protocol: TCP}, {name: dns, port: 53, protocol: UDP}]}}`,
			want:    []string{"Modified /spec/ports"},
			target:  ports + `{name: http, port: 80}, ` + dnsPorts + `]}}`,
		},
		"ports of one number after an exchange of their protocols": {
			desired: ports + `{name: http, port: 80}, ` + dnsPorts + `]}}`,
			live:    ports + `{name: http, port: 80}, {name: dns, port: 53, protocol: TCP}, {name: dns-tcp, port: 53, protocol: UDP}]}}`,
			want:    []string{"Modified /spec/ports", "Modified /spec/ports/1/name", "Modified /spec/ports/2/name"},
			target:  ports + `{name: http, port: 80}, ` + dnsPorts + `]}}`,
		},
		"tilde and slash in keys are escaped": {
			desired: `{apiVersion: x.io/v1, kind: X, spec: {a/b~c: 1}}`,
			live:    `{apiVersion: x.io/v1, kind: X, spec: {a/b~c: 2}}`,
			want:    []string{"Modified /spec/a~1b~0c"},
			target:  `{apiVersion: x.io/v1, kind: X, spec: {a/b~c: 1}}`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestTargetSharesNothingWithDesired(t *testing.T) {
	desired := obj(t, `{spec: {a: {b: [1]}}}`)
	r := Compare(desired, map[string]any{}, Options{})
	at(r.Target, "spec", "a").(map[string]any)["b"] = "written by the caller"
	check.That(t, deepEqual(desired, obj(t, `{spec: {a: {b: [1]}}}`)), "a write to the target reached the desired object")
}
