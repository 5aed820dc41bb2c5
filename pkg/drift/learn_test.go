package drift

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestLearn(t *testing.T) {
	for name, tc := range map[string]struct {
		desired   string
		canonical string   // what the server made of it
		later     string   // what it was changed to
		want      []string // the changes in later
	}{
		"a normalised value stays normal, another one does not": {
			desired:   `{apiVersion: x.io/v1, kind: X, spec: {cpu: 1000m, mem: 1}}`,
			canonical: `{apiVersion: x.io/v1, kind: X, spec: {cpu: "1", mem: 1}}`,
			later:     `{apiVersion: x.io/v1, kind: X, spec: {cpu: "2", mem: 1}}`,
			want:      []string{"Modified /spec/cpu"},
		},
		"a pruned field stays absent, and a value that appears there is compared": {
			desired:   `{apiVersion: x.io/v1, kind: X, spec: {unknown: 1}}`,
			canonical: `{apiVersion: x.io/v1, kind: X, spec: {}}`,
			later:     `{apiVersion: x.io/v1, kind: X, spec: {unknown: 2}}`,
			want:      []string{"Modified /spec/unknown"},
		},
		"a dropped zero value is learnt, a non-zero value there is not": {
			desired:   `{apiVersion: x.io/v1, kind: X, spec: {on1: false, m: {}}}`,
			canonical: `{apiVersion: x.io/v1, kind: X, spec: {}}`,
			later:     `{apiVersion: x.io/v1, kind: X, spec: {on1: true, m: x}}`,
			want:      []string{"Modified /spec/m", "Modified /spec/on1"},
		},
		"an atomic list that a webhook extended stays so": {
			desired:   `{apiVersion: v1, kind: Pod, spec: {tolerations: [{key: a}]}}`,
			canonical: `{apiVersion: v1, kind: Pod, spec: {tolerations: [{key: a}, {key: hook}]}}`,
			later:     `{apiVersion: v1, kind: Pod, spec: {tolerations: [{key: a}, {key: hook}, {key: b}]}}`,
			want:      []string{"Modified /spec/tolerations"},
		},
		"a list element that a webhook removed is not restored": {
			desired:   `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}, {name: b}]}}`,
			canonical: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}`,
			later:     `{apiVersion: v1, kind: Pod, spec: {containers: []}}`,
			want:      []string{"Removed /spec/containers/0"},
		},
		"an order that a webhook chose is normal": {
			desired:   `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}, {name: b}, {name: c}]}}`,
			canonical: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: b}, {name: a}, {name: c}]}}`,
			later:     `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c}, {name: a}, {name: b}]}}`,
			want:      []string{"Modified /spec/containers"},
		},
		"a variable that a webhook appends again and again is normal, another value is not": {
			desired:   `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: A, value: "1"}]}]}}`,
			canonical: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}}`,
			later:     `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "3"}]}]}}`,
			want:      []string{"Added /spec/containers/0/env/1"},
		},
		"a value that a webhook made a reference is normal, a reference of another sort is not": {
			desired:   `{apiVersion: v1, kind: Pod, spec: {volumes: [{name: a, emptyDir: {}}]}}`,
			canonical: `{apiVersion: v1, kind: Pod, spec: {volumes: [{name: a, csi: {}}]}}`,
			later:     `{apiVersion: v1, kind: Pod, spec: {volumes: [{name: a, hostPath: {path: /}}]}}`,
			want:      []string{"Removed /spec/volumes/0/emptyDir", "Added /spec/volumes/0/hostPath"},
		},
		"a renamed element is normal": {
			desired:   `{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: [{name: a}]}}`,
			canonical: `{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: [{name: b}]}}`,
			later:     `{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: [{name: b}, {name: c}]}}`,
		},
		"the declared value is always right, whatever was learnt": {
			desired:   `{apiVersion: x.io/v1, kind: X, spec: {a: 1, l: [1, 2]}}`,
			canonical: `{apiVersion: x.io/v1, kind: X, spec: {a: 2, l: [2, 1]}}`,
			later:     `{apiVersion: x.io/v1, kind: X, spec: {a: 1, l: [1, 2]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, canonical, later := obj(t, tc.desired), obj(t, tc.canonical), obj(t, tc.later)
			opt := Options{Schema: schemaOf(schemas(t), desired)}
			check.Must(t, len(Compare(desired, canonical, opt).Changes) > 0, "there is nothing to learn")
			opt.Accepted = Learn(desired, canonical, opt)
			sameChanges(t, Compare(desired, canonical, opt).Changes)
			sameChanges(t, checkRestores(t, desired, later, opt).Changes, tc.want...)
		})
	}
}

func TestLearnRecordsNothingWithoutDifferences(t *testing.T) {
	desired, live := obj(t, deployment), obj(t, deploymentLive)
	b := Learn(desired, live, Options{Schema: schemaOf(schemas(t), desired)})
	check.That(t, len(b) == 0, "learnt %v", b)
}

// ignoring ignores the given pointers, in which * stands for any segment.
func ignoring(pointers ...string) func([]string) bool {
	return func(path []string) bool {
		return slices.ContainsFunc(pointers, func(p string) bool {
			want := parsePointer(p)
			return slices.EqualFunc(want, path, func(w, s string) bool { return w == "*" || w == s })
		})
	}
}

func TestIgnore(t *testing.T) {
	const live = `{apiVersion: x.io/v1, kind: X, metadata: {labels: {b: x}}, spec: {num: 9, m: {a: 8, b: 7}, l: [{a: 8, b: 7, c: 6}]}}`
	const desired = `{apiVersion: x.io/v1, kind: X, metadata: {labels: {a: x}}, spec: {num: 1, m: {a: 1, b: 1}, l: [{a: 1, b: 1}]}}`
	ignore := func(pointers ...string) func(*Options) {
		return func(o *Options) { o.Ignore = ignoring(pointers...) }
	}
	for name, tc := range map[string]comparison{
		"a field at any depth keeps its live value": {
			foreign: true,
			with:    ignore("/spec/num", "/spec/m/a", "/metadata/labels"),
			want:    []string{"Modified /spec/l/0/a", "Modified /spec/l/0/b", "Modified /spec/m/b"},
			target:  `{apiVersion: x.io/v1, kind: X, metadata: {labels: {b: x}}, spec: {num: 9, m: {a: 8, b: 1}, l: [{a: 1, b: 1}]}}`,
		},
		"fields in a replaced element of an atomic list keep their live values, declared or not": {
			foreign: true,
			with:    ignore("/spec/num", "/spec/m", "/metadata", "/spec/l/*/a", "/spec/l/*/c"),
			want:    []string{"Modified /spec/l/0/b"},
			target:  `{apiVersion: x.io/v1, kind: X, metadata: {labels: {b: x}}, spec: {num: 9, m: {a: 8, b: 7}, l: [{a: 8, b: 1, c: 6}]}}`,
		},
		"everything below an ignored path is ignored": {with: ignore("/spec", "/metadata/labels/a")},
		"a map that comes back does so without its ignored fields": {
			with:   ignore("/spec/num", "/spec/l", "/metadata", "/spec/m/a"),
			live:   `{apiVersion: x.io/v1, kind: X, metadata: {}, spec: {}}`,
			want:   []string{"Removed /spec/m"},
			target: `{apiVersion: x.io/v1, kind: X, metadata: {}, spec: {m: {b: 1}}}`,
		},
		"a map of which all is ignored need not be there": {
			with: ignore("/spec/num", "/spec/l", "/metadata/labels/a", "/spec/m/*"),
			live: `{apiVersion: x.io/v1, kind: X, metadata: {}, spec: {}}`,
		},
	} {
		tc.desired, tc.live = desired, cmp.Or(tc.live, live)
		t.Run(name, tc.run)
	}
}

func TestIgnoredElementsOfMergedListsAreNeitherRestoredNorTakenOut(t *testing.T) {
	comparison{
		desired: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: x}, {name: b, image: y}, {name: c, image: z}]}}`,
		live:    `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: w}, {name: a, image: v}]}}`,
		with:    func(o *Options) { o.Ignore = ignoring("/spec/containers/1", "/spec/containers/2") },
		want:    []string{"Modified /spec/containers/0/image"},
		target:  `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: w}, {name: a, image: x}]}}`,
	}.run(t)
}

func TestFingerprintsTellValuesApart(t *testing.T) {
	values := []any{
		nil, "", "a", "1", int64(1), int64(0), 1.5, true, false, "true", map[string]any{}, []any{},
		[]any{"a", "b"}, []any{"ab"}, []any{[]any{"a"}, "b"}, []any{[]any{"a", "b"}}, map[string]any{"a": "b"},
		map[string]any{"a": map[string]any{"b": nil}}, map[string]any{"a": nil, "b": nil}, []any{nil},
		[]any{int64(1), int64(0)},
	}
	seen := map[uint64]any{fingerprint(absent(nil)): "absent", fingerprint(absent{"a"}): "replaced"}
	for _, v := range values {
		other, taken := seen[fingerprint(v)]
		check.That(t, !taken, "%v has the fingerprint of %v", v, other)
		seen[fingerprint(v)] = v
	}
	check.Equal(t, fingerprint(int64(1)), fingerprint(1.0), "1 and 1.0 differ")
}

func TestBaselineHoldsNoValue(t *testing.T) {
	desired := obj(t, `{apiVersion: v1, kind: Secret, data: {password: YQ==}}`)
	live := obj(t, `{apiVersion: v1, kind: Secret, data: {password: c2VjcmV0}}`)
	for path := range Learn(desired, live, Options{}) {
		check.That(t, !strings.Contains(path, "c2VjcmV0"), "%q", path)
	}
}

func TestDuplicatedKeysWithLearntAbsencesSettle(t *testing.T) {
	const head = `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, env: `
	desired := obj(t, head+`[{name: A, value: "1"}, {name: A}, {name: A, value: "2"}]}]}}`)
	opt := Options{Schema: schemaOf(schemas(t), desired)}
	for name, canonical := range map[string]string{
		"only the last is kept":  `[{name: A, value: "2"}]`,
		"only the first is kept": `[{name: A, value: "1"}]`,
		"all are kept":           `[{name: A, value: "1"}, {name: A}, {name: A, value: "2"}]`,
		"they trade places":      `[{name: A, value: "2"}, {name: A, value: "1"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			opt := opt
			opt.Accepted = Learn(desired, obj(t, head+canonical+`}]}}`), opt)
			for _, later := range []string{canonical, `[]`, `[{name: A, value: "3"}]`, `[{name: B, value: "1"}, {name: A}]`} {
				checkRestores(t, desired, obj(t, head+later+`}]}}`), opt)
			}
		})
	}
}
