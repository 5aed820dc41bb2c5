package tamper

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// mutation is one tampering with an object.
type mutation struct {
	class class
	what  string
	// requests are alternatives, the likeliest to be accepted first. There are none where the live object lacks the
	// declared value.
	requests []request
}

// alike names the common part of similar mutations of other objects.
func (m mutation) alike() string {
	return string(m.class) + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, m.what)
}

// request is a patch of an object.
type request struct {
	kind        types.PatchType
	body        []byte
	subresource string
	// manager is the field manager; empty for kit.Tamperer.
	manager string
}

// operation is one of a JSON patch.
type operation = drift.PatchOperation

// jsonPatch makes a request of operations.
func jsonPatch(operations ...operation) request {
	body, err := json.Marshal(operations)
	if err != nil {
		panic(err) // what came out of JSON goes back into it
	}
	return request{kind: types.JSONPatchType, body: body}
}

// patches makes requests of JSON patches.
func patches(bodies [][]byte) []request {
	var all []request
	for _, body := range bodies {
		all = append(all, request{kind: types.JSONPatchType, body: body})
	}
	return all
}

// generator makes the mutations of one object.
type generator struct {
	*object
	live *unstructured.Unstructured
	rng  *rand.Rand
	size size
}

// harms returns the changes that have to be reverted in every scope, except deletion and takeover; exempt counts
// allowed ones.
func (g *generator) harms() (found []mutation, exempt int, err error) {
	byClass := map[class][]kit.Tampering{}
	for _, t := range g.shuffled() {
		if g.isExempt(t) {
			exempt++
			continue
		}
		byClass[g.classOf(t)] = append(byClass[g.classOf(t)], t)
	}
	for _, cl := range []class{scalar, mergeKey, removal} {
		for _, t := range kit.Sample(byClass[cl], g.size.of(cl)) {
			m, err := g.edit(cl, t)
			if err != nil {
				return nil, 0, err
			}
			found = append(found, m)
		}
	}
	found = append(found, g.some(g.reorders(true), g.size.of(reorder))...)
	for _, a := range g.additions() {
		if a.class == addition || a.class == mergeKey {
			found = append(found, a)
		}
	}
	found = append(found, g.some(ownerships(), g.size.of(ownership))...)
	if m, ok := g.scale(); ok {
		found = append(found, m)
	}
	return found, exempt, nil
}

// some returns at most limit of the mutations.
func (g *generator) some(all []mutation, limit int) []mutation {
	g.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), limit)]
}

func (g *generator) shuffled() []kit.Tampering {
	all := kit.Tamperings(g.declared.Object)
	g.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (g *generator) classOf(t kit.Tampering) class {
	switch {
	case t.Remove:
		return removal
	case g.isMergeKey(t.Path):
		return mergeKey
	}
	return scalar
}

// isExempt reports whether a lock allows a tampering: the choice of an autoscaler requested by the chart, and the
// exchange of a finalizer, after which the declared one is restored and the other one is an addition.
func (g *generator) isExempt(t kit.Tampering) bool {
	switch {
	case len(t.Path) == 2 && t.Path[0] == "spec" && t.Path[1] == "replicas":
		return g.autoscaled
	case len(t.Path) == 3 && t.Path[1] == "finalizers":
		return !t.Remove
	}
	return false
}

func (g *generator) edit(cl class, t kit.Tampering) (mutation, error) {
	m := mutation{class: cl, what: t.String()}
	bodies, err := t.Patches(g.declared.Object, g.live.Object)
	if err != nil {
		return m, err
	}
	for i, body := range bodies {
		if cl == mergeKey && t.Path[len(t.Path)-3] == "volumes" {
			if bodies[i], err = g.renameVolume(body); err != nil {
				return m, err
			}
		}
	}
	m.requests = patches(bodies)
	return m, nil
}

// renameVolume completes the renaming of a volume: the containers mount it by its name.
func (g *generator) renameVolume(body []byte) ([]byte, error) {
	var operations []operation
	if err := json.Unmarshal(body, &operations); err != nil {
		return nil, fmt.Errorf("decode a patch: %w", err)
	}
	volume := drift.Change{Path: operations[0].Path}.Segments()
	pod := volume[:len(volume)-3]
	before, _ := at(g.live.Object, volume)
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := at(g.live.Object, append(slices.Clone(pod), list))
		for i := range length(containers) {
			path := append(slices.Clone(pod), list, strconv.Itoa(i), "volumeMounts")
			mounts, _ := at(g.live.Object, path)
			for j := range length(mounts) {
				name := append(slices.Clone(path), strconv.Itoa(j), "name")
				if v, _ := at(g.live.Object, name); v == before {
					operations = append(operations, operation{Op: "replace", Path: drift.Pointer(name...), Value: operations[0].Value})
				}
			}
		}
	}
	return json.Marshal(operations)
}

// reorders returns a reversal of every declared list where the order matters, or of those where it does not.
func (g *generator) reorders(matters bool) []mutation {
	var found []mutation
	var walk func(path []string, declared, live any)
	walk = func(path []string, declared, live any) {
		switch d := declared.(type) {
		case map[string]any:
			l, _ := live.(map[string]any)
			for _, key := range sortedKeys(d) {
				if len(path) > 0 || key != "status" {
					walk(append(slices.Clip(path), key), d[key], l[key])
				}
			}
		case []any:
			l, _ := live.([]any)
			if len(l) != len(d) {
				return
			}
			for i := range d {
				walk(append(slices.Clip(path), strconv.Itoa(i)), d[i], l[i])
			}
			reversed := slices.Clone(l)
			slices.Reverse(reversed)
			if difference(l, reversed) == "" || g.orderMatters(path) != matters {
				return
			}
			cl := reorder
			if !matters {
				cl = leftOrder
			}
			found = append(found, mutation{class: cl, what: "reverse " + drift.Pointer(path...), requests: []request{
				jsonPatch(operation{Op: "replace", Path: drift.Pointer(path...), Value: reversed}),
			}})
		}
	}
	walk(nil, g.declared.Object, g.live.Object)
	return found
}

// ownerships returns tamperings with Helm's ownership metadata.
func ownerships() []mutation {
	const label, name, namespace = "/metadata/labels/app.kubernetes.io~1managed-by",
		"/metadata/annotations/meta.helm.sh~1release-name", "/metadata/annotations/meta.helm.sh~1release-namespace"
	one := func(what string, operations ...operation) mutation {
		return mutation{class: ownership, what: what, requests: []request{jsonPatch(operations...)}}
	}
	return []mutation{
		one("remove Helm's label", operation{Op: "remove", Path: label}),
		one("edit Helm's label", operation{Op: "replace", Path: label, Value: "nobody"}),
		one("edit Helm's annotation", operation{Op: "replace", Path: name, Value: "nobody"}),
		one("remove Helm's annotations", operation{Op: "remove", Path: name}, operation{Op: "remove", Path: namespace}),
		one("remove all of it", operation{Op: "remove", Path: label}, operation{Op: "remove", Path: name},
			operation{Op: "remove", Path: namespace}),
	}
}

// scale changes declared replicas by way of the subresource, as kubectl scale does.
func (g *generator) scale() (mutation, bool) {
	_, declared, err := unstructured.NestedFieldNoCopy(g.declared.Object, "spec", "replicas")
	live, there, liveErr := unstructured.NestedInt64(g.live.Object, "spec", "replicas")
	if err != nil || liveErr != nil || !declared || !there || g.autoscaled {
		return mutation{}, false
	}
	return mutation{class: scale, what: "scale", requests: []request{{
		kind: types.MergePatchType, subresource: "scale", body: fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, live+2),
	}}}, true
}

// takeovers returns the effects of `kubectl apply --server-side --force-conflicts` with the manifest and another
// value.
func (g *generator) takeovers() ([]mutation, error) {
	var found []mutation
	for _, t := range g.shuffled() {
		if len(found) == g.size.of(takeover) {
			break
		}
		if g.classOf(t) != scalar || g.isExempt(t) || len(t.Path) > 1 && g.isMerged(t.Path[:len(t.Path)-1]) {
			continue // what somebody applies to a set is merged with what is declared
		}
		bodies, err := t.Patches(g.declared.Object, g.declared.Object)
		if err != nil {
			return nil, err
		}
		m := mutation{class: takeover, what: "apply with another " + drift.Pointer(t.Path...)}
		for _, body := range bodies {
			var operations []operation
			if err := json.Unmarshal(body, &operations); err != nil {
				return nil, fmt.Errorf("decode a patch: %w", err)
			}
			applied := runtime.DeepCopyJSON(g.declared.Object)
			delete(applied, "status")
			put(applied, t.Path, operations[0].Value)
			content, err := json.Marshal(applied)
			if err != nil {
				return nil, fmt.Errorf("encode %s: %w", g, err)
			}
			m.requests = append(m.requests, request{kind: types.ApplyPatchType, body: content, manager: "kubectl"})
		}
		found = append(found, m)
	}
	return found, nil
}
