package drift

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// checkRestores is the core property: the target holds what is declared, and finding it changed nothing.
func checkRestores(t *testing.T, desired, live map[string]any, opt Options) Result {
	t.Helper()
	desiredBefore, liveBefore := clone(desired), clone(live)
	r := Compare(desired, live, opt)
	check.Must(t, deepEqual(desired, desiredBefore) && deepEqual(live, liveBefore), "Compare changed its input")
	check.Must(t, (len(r.Changes) == 0) == (r.Target == nil), "%d changes, but target is nil: %v", len(r.Changes),
		r.Target == nil)
	c := newComparer(opt)
	if c.equal(desired, live, opt.Schema.root) != (len(r.Changes) == 0) { // owners and a freeze are looked at apart
		_, changed := c.mergeMap(desired, live, opt.Schema.root)
		check.Must(t, !changed, "asked whether something changed, the answer is another one; changes %q", changes(r.Changes))
	}
	if r.Target == nil {
		return r
	}
	if again := Compare(desired, r.Target, opt); len(again.Changes) > 0 {
		t.Fatalf("changes %q,\nand after putting them right %q\nlive   %v\ntarget %v",
			changes(r.Changes), changes(again.Changes), live, r.Target)
	}
	patched := applyMergePatch(live, MergePatch(live, r.Target))
	check.Must(t, deepEqual(patched, r.Target), "the merge patch does not lead to the target")
	return r
}

// applyMergePatch is RFC 7386.
func applyMergePatch(o any, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	m, _ := o.(map[string]any)
	maps.Copy(out, m)
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = applyMergePatch(out[k], v)
		}
	}
	return out
}

func TestEveryTamperingWithChartManifestsIsPutRight(t *testing.T) {
	s := schemas(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, desired := range corpusObjects(t) {
		name := fmt.Sprint(desired["kind"], "/", at(desired, "metadata", "name"))
		t.Run(name, func(t *testing.T) {
			opt := Options{Schema: schemaOf(s, desired)}
			if r := Compare(desired, clone(desired), opt); len(r.Changes) > 0 {
				t.Fatalf("an object differs from itself: %q", changes(r.Changes))
			}
			crowded := addForeign(clone(desired), opt.Schema.root, 0).(map[string]any)
			if r := Compare(desired, crowded, opt); len(r.Changes) > 0 {
				t.Fatalf("foreign additions are taken for drift: %q", changes(r.Changes))
			}
			sites := sitesOf(desired, nil, nil)
			most := 400
			if len(sites) > 2000 {
				most = 4 // CRDs and dashboards: each takes its time
			}
			rng.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
			for _, site := range sites[:min(most, len(sites))] {
				checkSite(t, desired, crowded, site, opt)
			}
		})
	}
}

func checkSite(t *testing.T, desired, crowded map[string]any, s site, opt Options) {
	t.Helper()
	live := clone(desired)
	tamper(live, s)
	r := checkRestores(t, desired, live, opt)
	switch {
	case r.Target == nil && !deepEqual(live, desired) && !harmless(desired, live, opt.Schema.root):
		t.Fatalf("%s %v is not seen", s.op, s.path)
	case slices.Contains(s.path, "finalizers") && s.op == "mutate": // in a set the edited element is just another one
	case r.Target != nil && !deepEqual(r.Target, desired):
		t.Fatalf("%s %v is not undone exactly:\n got  %v\n want %v", s.op, s.path, r.Target, desired)
	}
	live = clone(crowded)
	tamper(live, s)
	before := countMarkers(live)
	r = checkRestores(t, desired, live, opt)
	if slices.ContainsFunc(s.path, func(key string) bool {
		return strings.HasSuffix(strings.ToLower(key), "selector")
	}) {
		return // it is put right as a whole
	}
	if r.Target != nil && countMarkers(r.Target) != before {
		t.Fatalf("%s %v: foreign additions before %d, after %d; %q", s.op, s.path, before, countMarkers(r.Target),
			changes(r.Changes))
	}
}

// harmless is an independent, slow definition of differences without drift: zero values that equal absent ones by the
// Go type, and reordered lists without a meaning of their order.
func harmless(desired, live any, n *node) bool {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range d {
			if have, ok := l[k]; ok && !harmless(v, have, n.field(k)) || !ok && !sameAsAbsent(v, n.field(k)) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(d) {
			return false
		}
		for i := range d {
			found := harmless(d[i], l[i], n.element())
			for j := range l {
				found = found || n != nil && n.list != atomicList && !n.ordered && harmless(d[i], l[j], n.element())
			}
			if !found {
				return false
			}
		}
		return true
	}
	return scalarEqual(desired, live)
}

func TestManyTamperingsAtOnceArePutRight(t *testing.T) {
	s := schemas(t)
	rng := rand.New(rand.NewPCG(3, 4))
	desired, live := obj(t, deployment), obj(t, deploymentLive)
	opt := Options{Schema: schemaOf(s, desired)}
	crowded := addForeign(live, opt.Schema.root, 0).(map[string]any)
	sites := sitesOf(desired, nil, nil)
	for range 800 {
		tampered := clone(crowded)
		for range 1 + rng.IntN(6) {
			tamper(tampered, sites[rng.IntN(len(sites))])
		}
		checkRestores(t, desired, tampered, opt)
		opt := opt
		opt.Accepted = Learn(desired, tampered, opt)
		if r := Compare(desired, tampered, opt); len(r.Changes) > 0 {
			t.Fatalf("changes %q after learning %v", changes(r.Changes), opt.Accepted)
		}
	}
}
