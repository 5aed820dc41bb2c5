package drift

import (
	"fmt"
	"testing"
)

func TestDigestChangesWithContentOnly(t *testing.T) {
	h := NewHasher()
	base := h.Digest(obj(t, deploymentLive))
	for name, tc := range map[string]struct {
		edit edit
		same bool
	}{
		"the same content":        {same: true},
		"another status":          {edit{"readyReplicas: 2", "readyReplicas: 1"}, true},
		"another resourceVersion": {edit{`"4711"`, `"4712"`}, true},
		"another generation":      {edit{"generation: 3\n", "generation: 4\n"}, true},
		"another uid":             {edit{"uid: 0b0f", "uid: 0b10"}, true},
		"other managed fields":    {edit{"manager: helm, op", "manager: x, op"}, true},
		"no managed fields": {edit{"  managedFields: [{manager: helm, operation: Update}]\n", ""},
			true},
		"another label":                      {edit{"team: blue", "team: red"}, false},
		"another replica count":              {edit{"replicas: 2\n  sel", "replicas: 3\n  sel"}, false},
		"a deletion timestamp":               {edit{"uid: 0b0f", "deletionTimestamp: x"}, false},
		"another list order":                 {edit{`args: [--port, "80"]`, `args: ["80", --port]`}, false},
		"a key with the value of another":    {edit{"app: web, team: blue", "app: blue, team: web"}, false},
		"a number in place of text":          {edit{`[--port, "80"]`, `[--port, 80]`}, false},
		"an empty map in place of an absent": {edit{"periodSeconds: 10,", "periodSeconds: 10, exec: {},"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := h.Digest(obj(t, tc.edit.apply(t, deploymentLive))); (got == base) != tc.same {
				t.Errorf("same digest: %v", got == base)
			}
		})
	}
}

func TestDigestSeesEveryTampering(t *testing.T) {
	h := NewHasher()
	o := obj(t, deployment)
	seen := map[uint64]string{h.Digest(o): "nothing"}
	for _, s := range sitesOf(o, nil, nil) {
		tampered := clone(o)
		tamper(tampered, s)
		d, what := h.Digest(tampered), fmt.Sprint(s)
		if other, taken := seen[d]; taken && s.op == "mutate" {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
}

func TestDigestsOfDifferentHashersDiffer(t *testing.T) {
	o := obj(t, deployment)
	one, other := NewHasher(), NewHasher()
	if one.Digest(o) == other.Digest(o) {
		t.Error("the digest does not depend on the seed")
	}
}

func BenchmarkDigest(b *testing.B) {
	live, h := obj(b, deploymentLive), NewHasher()
	b.ReportAllocs()
	for b.Loop() {
		h.Digest(live)
	}
}

func BenchmarkCompareWithoutDrift(b *testing.B) {
	desired, live := obj(b, deployment), obj(b, deploymentLive)
	opt := Options{Schema: schemaOf(schemas(b), desired)}
	b.ReportAllocs()
	for b.Loop() {
		if r := Compare(desired, live, opt); r.Target != nil {
			b.Fatal("drift")
		}
	}
}

func BenchmarkCompareWithIgnoreAndBaseline(b *testing.B) {
	desired, live := obj(b, deployment), obj(b, deploymentLive)
	desired["spec"].(map[string]any)["replicas"] = int64(3)
	opt := Options{Schema: schemaOf(schemas(b), desired), Ignore: ignoring("/spec/paused")}
	opt.Accepted = Learn(desired, live, opt)
	b.ReportAllocs()
	for b.Loop() {
		if r := Compare(desired, live, opt); r.Target != nil {
			b.Fatal("drift")
		}
	}
}

func BenchmarkCompareWithDrift(b *testing.B) {
	desired, live := obj(b, deployment), obj(b, deploymentLive)
	live["spec"].(map[string]any)["replicas"] = int64(3)
	opt := Options{Schema: schemaOf(schemas(b), desired)}
	b.ReportAllocs()
	for b.Loop() {
		if r := Compare(desired, live, opt); r.Target == nil {
			b.Fatal("no drift")
		}
	}
}
