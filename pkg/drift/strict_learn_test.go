package drift

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
