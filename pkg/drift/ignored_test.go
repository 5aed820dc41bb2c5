package drift

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestWithoutIgnoredNamesOnlyWhatMayBeWritten(t *testing.T) {
	const desired = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: apps, labels: {a: declared, b: declared}}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: web, image: declared, args: [one, two], ports: [{containerPort: 80, name: http}]}
      - {name: side, image: declared}`
	const live = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: apps, labels: {a: live, b: live, c: live}}
spec:
  replicas: 5
  template:
    spec:
      containers:
      - {name: added, image: live}
      - {name: side, image: live}
      - {name: web, image: live, args: [three, four], ports: [{containerPort: 80, name: live}]}`
	for name, test := range map[string]struct {
		ignore, owned []string
		change        func(want string) string
	}{
		"nothing ignored": {},
		"owned by another": {
			ignore: []string{"/spec/replicas", "/metadata/labels/a"},
			change: strings.NewReplacer("  replicas: 2\n", "", "a: declared, ", "").Replace,
		},
		"owned by Helm": {
			ignore: []string{"/spec/replicas", "/metadata/labels/a"},
			owned:  []string{"/spec/replicas", "/metadata/labels/a"},
			change: strings.NewReplacer("replicas: 2", "replicas: 5", "a: declared", "a: live").Replace,
		},
		"inside of list elements": {
			ignore: []string{"/spec/template/spec/containers/0/image"},
			owned:  []string{"/spec/template/spec/containers/0/image"},
			change: strings.NewReplacer("{name: web, image: declared", "{name: web, image: live").Replace,
		},
		"a whole element": {
			ignore: []string{"/spec/template/spec/containers/0/ports/0"},
			change: strings.NewReplacer("[{containerPort: 80, name: http}]", "[]").Replace,
		},
		"the key of an element, without which it could not be sent": {
			ignore: []string{"/spec/template/spec/containers/0/ports/0/containerPort",
				"/spec/template/spec/containers/0/ports/0/name"},
			change: strings.NewReplacer("{containerPort: 80, name: http}", "{containerPort: 80}").Replace,
		},
		"an element of an atomic list": {
			ignore: []string{"/spec/template/spec/containers/0/args/1"},
			change: strings.NewReplacer("[one, two]", "[one, four]").Replace,
		},
		"everything": {
			ignore: []string{""},
			change: func(string) string {
				return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: apps}}"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := desired
			if test.change != nil {
				want = test.change(want)
			}
			before := obj(t, desired)
			opt := Options{Schema: schemaOf(schemas(t), before), Ignore: under(test.ignore...)}
			got := WithoutIgnored(before, obj(t, live), obj(t, live), opt, under(test.owned...))
			if !reflect.DeepEqual(got, obj(t, want)) {
				t.Errorf("got %v,\nwant %v", got, obj(t, want))
			}
			check.That(t, reflect.DeepEqual(before, obj(t, desired)), "the desired object was changed")
		})
	}
}

// Argo Rollouts adds a key to the selector of a Service. A selector is one value to the API server: an apply of the
// declared one would remove that key. It names it when a declared key is to be restored, which takes all of it.
func TestWithoutIgnoredLeavesAMapToWhoAddedToIt(t *testing.T) {
	object := func(spec string) map[string]any {
		return obj(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: "+spec+"}")
	}
	declared := object("{type: ClusterIP, selector: {app: web}}")
	for name, test := range map[string]struct{ live, target, owned, want string }{
		"added by another": {live: "{selector: {app: web, hash: x}}", target: "{selector: {app: web, hash: x}}",
			want: "{type: ClusterIP}"},
		"added by Helm's own webhook": {live: "{selector: {app: web, hash: x}}", target: "{selector: {app: web, hash: x}}",
			owned: "/spec/selector", want: "{type: ClusterIP, selector: {app: web, hash: x}}"},
		"changed by another, too": {live: "{selector: {app: other, hash: x}}", target: "{selector: {app: web}}",
			want: "{type: ClusterIP, selector: {app: web}}"},
		"taken out": {live: "{}", target: "{selector: {app: web}}", want: "{type: ClusterIP, selector: {app: web}}"},
		"as declared": {live: "{selector: {app: web}}", target: "{selector: {app: web}}",
			want: "{type: ClusterIP, selector: {app: web}}"},
	} {
		owned := func(path []string) bool { return Pointer(path...) == test.owned }
		got := WithoutIgnored(declared, object(test.target), object(test.live),
			Options{Schema: schemaOf(schemas(t), declared)}, owned)
		want := object(test.want)
		check.That(t, reflect.DeepEqual(got, want), "%s: got %v, want %v", name, got, want)
	}
}

// An apply replaces an atomic map. Without the ignored key it would be refused, or remove that key.
func TestWithoutIgnoredSendsAtomicMapsWhole(t *testing.T) {
	custom := compiled(t, "{ref: {type: object, x-kubernetes-map-type: atomic}}")
	for name, test := range map[string]struct {
		declared, live, ignored, want string
		schema                        Schema
	}{
		"a reference to a role": {
			declared: "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a}}",
			live:     "{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: b}}", ignored: "/roleRef/name",
			want: "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: b}}"},
		"beside a declared key that is restored": {
			declared: "{apiVersion: v1, kind: Service, spec: {selector: {app: a, tier: a}}}",
			live:     "{spec: {selector: {app: b, tier: b}}}", ignored: "/spec/selector/tier",
			want: "{apiVersion: v1, kind: Service, spec: {selector: {app: a, tier: b}}}"},
		"all of it ignored": {
			declared: "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a}}",
			live:     "{roleRef: {kind: Role, name: b}}", ignored: "/roleRef",
			want: "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}"},
		"of a custom resource": {
			declared: "{apiVersion: e/v1, kind: E, spec: {ref: {kind: a, name: a}}}",
			live:     "{spec: {ref: {kind: a, name: b}}}", ignored: "/spec/ref/name", schema: custom,
			want: "{apiVersion: e/v1, kind: E, spec: {ref: {kind: a, name: b}}}"},
	} {
		declared, live := obj(t, test.declared), obj(t, test.live)
		if test.schema.root == nil {
			test.schema = schemaOf(schemas(t), declared)
		}
		opt := Options{Schema: test.schema, Ignore: under(test.ignored)}
		target := Compare(declared, live, opt).Target
		if target == nil {
			target = live
		}
		got := WithoutIgnored(declared, target, live, opt, nil)
		want := obj(t, test.want)
		check.That(t, reflect.DeepEqual(got, want), "%s: got %v, want %v", name, got, want)
	}
}

// An apply merges lists before the API server sets defaults: with another form of a merge key it would add an element.
func TestWithoutIgnoredSendsTheDefaultOfABlankMergeKey(t *testing.T) {
	object := func(ports string) map[string]any {
		return obj(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: ["+ports+"]}}")
	}
	for ports, want := range map[string]string{
		`{port: 80, protocol: "", name: a}`:                     "{port: 80, protocol: TCP, name: a}",
		`{port: 80, protocol: null}, {port: 80, protocol: UDP}`: "{port: 80, protocol: TCP}, {port: 80, protocol: UDP}",
		`{port: 80}`: "{port: 80}",
	} {
		live := object("{port: 80, protocol: TCP, name: a}, {port: 80, protocol: UDP, name: b}")
		got := WithoutIgnored(object(ports), live, live, Options{Schema: schemaOf(schemas(t), live)}, nil)
		want := object(want)
		check.That(t, reflect.DeepEqual(got, want), "%s: got %v, want %v", ports, got, want)
	}
}

// A webhook pinned the image and added a toleration. The apply that reverts a label sends both as they are, and a
// value that differs from the recorded one as it is declared.
func TestWithoutIgnoredSendsWhatIsAccepted(t *testing.T) {
	deployment := func(image, tolerations string) map[string]any {
		return obj(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {tier: gold}},
			spec: {template: {spec: {tolerations: [`+tolerations+`], containers: [{name: main, image: "`+image+`"}]}}}}`)
	}
	declared, settled := deployment("a", "{key: own}"), deployment("a@sha256:1", "{key: own}, {key: mesh}")
	opt := Options{Schema: schemaOf(schemas(t), declared)}
	opt.Accepted = Learn(declared, settled, opt)
	for _, test := range []struct{ live, want map[string]any }{
		{settled, settled},
		{deployment("a@sha256:2", "{key: own}, {key: mesh}"), deployment("a", "{key: own}, {key: mesh}")},
		{deployment("a@sha256:1", "{key: own}, {key: evil}"), deployment("a@sha256:1", "{key: own}")},
	} {
		got := WithoutIgnored(declared, test.live, test.live, opt, nil)
		check.That(t, reflect.DeepEqual(got, test.want), "sent %v, want %v", got, test.want)
	}
}

// under matches paths at or below one of the pointers.
func under(pointers ...string) func([]string) bool {
	return func(path []string) bool {
		below := func(p string) bool { return strings.HasPrefix(Pointer(path...)+"/", p+"/") }
		return slices.ContainsFunc(pointers, below)
	}
}
