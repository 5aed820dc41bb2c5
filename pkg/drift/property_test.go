package drift

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// site is a place in a declared object that can be tampered with.
type site struct {
	path []string
	op   string // mutate, remove, drop, swap
}

// sitesOf lists the places of an object that are protected.
func sitesOf(v any, path []string, out []site) []site {
	here := slices.Clone(path)
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if len(path) == 0 && (k == "apiVersion" || k == "kind") ||
				len(path) == 1 && path[0] == "metadata" && (k == "name" || k == "namespace") {
				continue
			}
			out = append(out, site{append(slices.Clone(path), k), "remove"})
			out = sitesOf(e, append(here, k), out)
		}
	case []any:
		for i, e := range x {
			out = append(out, site{append(slices.Clone(path), fmt.Sprint(i)), "drop"})
			if i > 0 {
				out = append(out, site{append(slices.Clone(path), fmt.Sprint(i)), "swap"})
			}
			out = sitesOf(e, append(here, fmt.Sprint(i)), out)
		}
	default:
		out = append(out, site{here, "mutate"})
	}
	return out
}

// tamper changes the object at a site, if it still exists.
func tamper(o map[string]any, s site) {
	parent, last := at(o, s.path[:len(s.path)-1]...), s.path[len(s.path)-1]
	i := 0
	if list, ok := parent.([]any); ok {
		if _, err := fmt.Sscan(last, &i); err != nil || i >= len(list) {
			return
		}
	}
	switch p := parent.(type) {
	case map[string]any:
		v, ok := p[last]
		switch {
		case !ok:
		case s.op == "remove":
			delete(p, last)
		case s.op == "mutate":
			p[last] = mutated(v)
		}
	case []any:
		switch s.op {
		case "mutate":
			p[i] = mutated(p[i])
		case "swap":
			if i > 0 {
				p[i], p[i-1] = p[i-1], p[i]
			}
		case "drop":
			replace(o, s.path[:len(s.path)-1], slices.Delete(slices.Clone(p), i, i+1))
		}
	}
}

func replace(o map[string]any, path []string, v any) {
	switch p := at(o, path[:len(path)-1]...).(type) {
	case map[string]any:
		p[path[len(path)-1]] = v
	case []any:
		var i int
		if _, err := fmt.Sscan(path[len(path)-1], &i); err == nil {
			p[i] = v
		}
	}
}

func mutated(v any) any {
	switch x := v.(type) {
	case string:
		return x + "-tampered"
	case bool:
		return !x
	case int64:
		return x + 1000
	case float64:
		return x + 1000
	}
	return "tampered"
}

// marker is in everything that the tests add to an object as another party would.
const marker = "zz-foreign"

// addForeign adds a key to every map and two elements to every merged list, outside of atomic lists.
func addForeign(v any, n *node, depth int) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = addForeign(e, n.field(k), depth+1)
		}
		if depth > 0 {
			x[marker] = marker
		}
	case []any:
		if n == nil {
			return x
		}
		switch {
		case n.list == keyedList && allMaps(x):
			for _, e := range x {
				addForeign(e, n.elem, depth+1)
			}
			for i := range 2 {
				x = append(x, map[string]any{n.keys[0].field: fmt.Sprint(marker, i)})
			}
		case n.list == setList:
			x = append(x, marker)
		}
		return x
	}
	return v
}

func countMarkers(v any) int {
	sum := 0
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if k == marker {
				sum++
			}
			sum += countMarkers(e)
		}
	case []any:
		for _, e := range x {
			sum += countMarkers(e)
		}
	case string:
		if strings.HasPrefix(x, marker) && !strings.HasSuffix(x, "tampered") {
			sum++
		}
	}
	return sum
}

// checkRestores is the core property: the target holds what is declared, and finding it changed nothing.
func checkRestores(t *testing.T, desired, live map[string]any, opt Options) Result {
	t.Helper()
	desiredBefore, liveBefore := clone(desired), clone(live)
	r := Compare(desired, live, opt)
	if !deepEqual(desired, desiredBefore) || !deepEqual(live, liveBefore) {
		t.Fatal("Compare changed its input")
	}
	if (len(r.Changes) == 0) != (r.Target == nil) {
		t.Fatalf("%d changes, but target is nil: %v", len(r.Changes), r.Target == nil)
	}
	c := comparer{ignore: opt.Ignore, accepted: opt.Accepted}
	if len(r.Changes) > 0 && c.equalMap(desired, live, opt.Schema.root) {
		t.Fatalf("the quick check sees no change, but there are %q", changes(r.Changes))
	}
	if r.Target == nil {
		return r
	}
	if again := Compare(desired, r.Target, opt); len(again.Changes) > 0 {
		t.Fatalf("changes %q,\nand after putting them right %q\nlive   %v\ntarget %v",
			changes(r.Changes), changes(again.Changes), live, r.Target)
	}
	patched := applyMergePatch(live, MergePatch(live, r.Target))
	if !deepEqual(patched, r.Target) {
		t.Fatal("the merge patch does not lead to the target")
	}
	return r
}

// applyMergePatch is RFC 7386.
func applyMergePatch(o any, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if m, ok := o.(map[string]any); ok {
		for k, v := range m {
			out[k] = v
		}
	}
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
				most = 10 // CRDs and dashboards: each takes its time
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
	if r.Target != nil && countMarkers(r.Target) != before {
		t.Fatalf("%s %v: foreign additions before %d, after %d; %q", s.op, s.path, before, countMarkers(r.Target), changes(r.Changes))
	}
}

// harmless is an independent, slow statement of what is no drift: missing zero values that the Go type cannot
// tell from absent ones, and reordered lists where order does not matter.
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
