package drift

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestStrictLearns(t *testing.T) {
	const deploy = `apiVersion: apps/v1, kind: Deployment`
	const containers = `{"f:spec":{"f:revisionHistoryLimit":{},"f:template":{"f:metadata":{"f:annotations":{".":{},"f:a":{},"f:b":{}}},` +
		`"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}},"k:{\"name\":\"c\"}":{".":{},"f:name":{}},"k:{\"name\":\"a\"}":{"f:tty":{}}},"f:tolerations":{}}}}}`
	for name, tc := range map[string]struct {
		desired, canonical, later string
		want                      []string // the changes in later
	}{
		"a default that the server puts back stays, another value goes": {
			desired:   `{` + deploy + `, spec: {}}`,
			canonical: `{` + deploy + `, spec: {revisionHistoryLimit: 10}}`,
			later:     `{` + deploy + `, spec: {revisionHistoryLimit: 3}}`,
			want:      []string{"Added /spec/revisionHistoryLimit"},
		},
		"a container that a webhook injects again and again stays wherever it stands, another one goes": {
			desired:   `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}]}}}}`,
			canonical: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}, {name: b}]}}}}`,
			later:     `{` + deploy + `, spec: {template: {spec: {containers: [{name: c}, {name: b}, {name: a}]}}}}`,
			want:      []string{"Added /spec/template/spec/containers/0"},
		},
		"an injected container that was changed goes": {
			desired:   `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}]}}}}`,
			canonical: `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}, {name: b, image: x}]}}}}`,
			later:     `{` + deploy + `, spec: {template: {spec: {containers: [{name: a}, {name: b, image: y}]}}}}`,
			want:      []string{"Added /spec/template/spec/containers/1"},
		},
		"what is learnt of one field is not accepted in another": {
			desired:   `{` + deploy + `, spec: {template: {metadata: {annotations: {c: "1"}}, spec: {containers: [{name: a}]}}}}`,
			canonical: `{` + deploy + `, spec: {template: {metadata: {annotations: {c: "1", a: "1"}}, spec: {containers: [{name: a}]}}}}`,
			later:     `{` + deploy + `, spec: {template: {metadata: {annotations: {c: "1", a: "1", b: "1"}}, spec: {containers: [{name: a, tty: true}]}}}}`,
			want:      []string{"Added /spec/template/metadata/annotations/b", "Added /spec/template/spec/containers/0/tty"},
		},
		"a default inside of an atomic list stays, another value goes": {
			desired:   `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a}, {key: b}]}}}}`,
			canonical: `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a, operator: Equal}, {key: b, operator: Equal}]}}}}`,
			later:     `{` + deploy + `, spec: {template: {spec: {tolerations: [{key: a, operator: Equal}, {key: b, operator: Exists}]}}}}`,
			want:      []string{"Modified /spec/template/spec/tolerations"},
		},
		"a map that was put in again stays, with another key it goes": {
			desired:   `{` + deploy + `, spec: {template: {metadata: {}}}}`,
			canonical: `{` + deploy + `, spec: {template: {metadata: {annotations: {a: "1"}}}}}`,
			later:     `{` + deploy + `, spec: {template: {metadata: {annotations: {a: "1", b: "1"}}}}}`,
			want:      []string{"Added /spec/template/metadata/annotations"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, canonical, later := obj(t, tc.desired), obj(t, tc.canonical), obj(t, tc.later)
			opt := strictOptions(t, desired, entries{wrote("helm", update, "", 1, strictHelm), by(containers)})
			check.Must(t, len(Compare(desired, canonical, opt).Changes) > 0, "there is nothing to learn")
			opt.Accepted = Learn(desired, canonical, opt)
			sameChanges(t, Compare(desired, canonical, opt).Changes)
			sameChanges(t, checkStrict(t, desired, later, opt).Changes, tc.want...)
		})
	}
}

func TestStrictLeavesWhatTheServerMadeOfADeclaredField(t *testing.T) {
	desired := obj(t,
		`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{name: a, emptyDir: {}}]}}}}`)
	live := obj(t,
		`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{name: a, csi: {driver: d}}]}}}}`)
	opt := strictOptions(t, desired, nil)
	opt.Accepted = Learn(desired, live, opt)
	opt.Strict = &Strict{
		ManagedFields: entries{
			by(`{"f:spec":{"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"a\"}":{"f:csi":{".":{},"f:driver":{}}}}}}}}`),
		},
	}
	sameChanges(t, checkStrict(t, desired, live, opt).Changes)
}

func TestStrictLearnsNothingThatIsNotForeign(t *testing.T) {
	desired, live := obj(t, deployment), obj(t, deploymentLive)
	if b := Learn(desired, live, strictOptions(t, desired,
		entries{wrote("kubelet", update, "", 1, `{"f:metadata":{"f:labels":{"f:team":{}}}}`)})); len(b) > 0 {
		t.Errorf("learnt %v", b)
	}
}

// TestStrictCostsNothingWhereNobodyIsForeign: most objects have no foreign manager, or one that owns nothing
// undeclared. The libraries below keep buffers in pools, and the race detector empties these at random: hence the
// margin, a small part of the cost of one foreign field.
func TestStrictCostsNothingWhereNobodyIsForeign(t *testing.T) {
	desired, live := obj(t, deployment), obj(t, deploymentLive)
	allocations := func(managers ...metav1.ManagedFieldsEntry) float64 {
		opt := Options{Schema: schemaOf(schemas(t), desired)}
		if len(managers) > 0 {
			opt.Strict = &Strict{Helm: Owner{Manager: "helm"}, ManagedFields: managers}
		}
		return testing.AllocsPerRun(100, func() { Compare(desired, live, opt) })
	}
	controllers := wrote("kube-controller-manager", update, "status", 1, `{"f:status":{}}`)
	helm := wrote("helm", update, "", 1, helmFields)
	declared := allocations()
	margin := declared / 20
	got := allocations(helm, controllers)
	check.That(t, !(got > declared+margin), "%v allocations, %v in scope Declared", got, declared)
	foreign := wrote("kubectl", update, "", 1, `{"f:metadata":{"f:labels":{"f:team":{}}}}`)
	got = allocations(helm, foreign)
	check.That(t, !(got < declared+2*margin), "a foreign field costs %v allocations, nobody %v: this test could not tell",
		got, declared)
}

// addedFields returns the additional fields of live over desired, in the form of FieldsV1, as the API server records
// them for their author.
func addedFields(t testing.TB, desired, live any, n *node) map[string]any {
	t.Helper()
	fields := map[string]any{}
	switch l := live.(type) {
	case map[string]any:
		d, _ := desired.(map[string]any)
		for key, v := range l {
			if _, declared := d[key]; !declared {
				fields["f:"+key] = wholeFields(t, v, n.field(key))
			} else if below := addedFields(t, d[key], v, n.field(key)); len(below) > 0 {
				fields["f:"+key] = below
			}
		}
	case []any:
		d, _ := desired.([]any)
		for i, e := range l {
			switch {
			case n == nil || n.list == atomicList:
			case n.list == keyedList && i < len(d):
				if below := addedFields(t, d[i], e, n.elem); len(below) > 0 {
					fields[elementNameOf(t, e, n)] = below
				}
			case i >= len(d):
				fields[elementNameOf(t, e, n)] = wholeFields(t, e, n.elem)
			}
		}
	}
	return fields
}

func wholeFields(t testing.TB, v any, n *node) map[string]any {
	t.Helper()
	fields := addedFields(t, nil, v, n)
	if len(fields) > 0 {
		fields["."] = map[string]any{}
	}
	return fields
}

func elementNameOf(t testing.TB, e any, n *node) string {
	t.Helper()
	var keys []string
	for _, k := range n.keys {
		keys = append(keys, k.field)
	}
	element, ok := pathElementOf(e, nil, keys)
	name, err := fieldpath.SerializePathElement(element)
	check.Must(t, ok && err == nil, "no name for %v: %v", e, err)
	return name
}

// TestEveryAdditionToChartManifestsIsTakenOut adds to every map and every merged list of every object.
func TestEveryAdditionToChartManifestsIsTakenOut(t *testing.T) {
	kinds := schemas(t)
	for _, desired := range corpusObjects(t) {
		t.Run(fmt.Sprint(desired["kind"], "/", at(desired, "metadata", "name")), func(t *testing.T) {
			opt := Options{Schema: schemaOf(kinds, desired)}
			live := addForeign(clone(desired), opt.Schema.root, 0).(map[string]any)
			fields := jsonOf(t, addedFields(t, desired, live, opt.Schema.root))
			opt.Strict = &Strict{ManagedFields: entries{
				wrote("helm", update, "", 1, strictHelm), wrote("x", update, "", 2, fields)}}
			r := checkStrict(t, desired, live, opt)
			check.Must(t, r.Target != nil, "nothing is found")
			for _, c := range r.Changes {
				if author := Attribute(opt.Strict.ManagedFields, desired, live, []Change{c},
					Owner{Manager: "helm", Operation: update})[0]; author.Manager != "x" {
					t.Errorf("%s %s is attributed to %q", c.Op, c.Path, author.Manager)
				}
			}
			got, want := clone(r.Target), clone(desired)
			// The marker has no domain, as those of Kubernetes.
			ours := keptField{path: []string{"metadata", "finalizers"}}
			for _, f := range append(keptFieldsOf(desired), ours) {
				withoutPath(got, f.path)
				withoutPath(want, f.path)
			}
			check.That(t, deepEqual(got, want), "target  %v\ndesired %v", got, want)
		})
	}
}

func withoutPath(o map[string]any, path []string) {
	last := len(path) - 1
	if parent, ok := at(o, path[:last]...).(map[string]any); ok && !slices.Contains(path, "*") {
		delete(parent, path[last])
	}
}
