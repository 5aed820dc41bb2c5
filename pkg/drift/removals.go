package drift

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// This file removes undeclared fields in both scopes.

// remove records the removal of the field at a path, among the places to remove.
func (c *recorder) remove(places tree, path ...string) {
	places.add(path)
	c.path = append(c.path[:0], path...)
	c.report(Added)
	c.path, c.foreign = c.path[:0], true
}

// withoutConsequences removes from the target the side effects of a reverted change: values that the API server set
// then, and would keep afterwards.
func (c *recorder) withoutConsequences(desired, live, target map[string]any) map[string]any {
	places := tree{}
	switch kind := desired["kind"]; {
	case desired["apiVersion"] != "v1":
	case kind == "Service":
		c.removeNodePorts(places, desired, target)
	case kind == "ReplicationController":
		c.removeTemplateLabels(places, desired, live)
	}
	return mapOf(places.cut(target))
}

// removeNodePorts removes the undeclared node ports of a Service that is declared without their allocation, if a change
// of its type or of the allocation made the API server allocate them. A revert of that change alone does not free them.
func (c *recorder) removeNodePorts(places tree, desired, target map[string]any) {
	isCause := func(change Change) bool {
		return change.Path == "/spec/type" || change.Path == "/spec/allocateLoadBalancerNodePorts"
	}
	spec := mapOf(desired["spec"])
	if spec["type"] != string(corev1.ServiceTypeLoadBalancer) || spec["allocateLoadBalancerNodePorts"] != false ||
		!slices.ContainsFunc(c.changes, isCause) {
		return
	}
	want, _ := spec["ports"].([]any)
	ports, _ := mapOf(target["spec"])["ports"].([]any)
	for j, p := range ports {
		number, allocated := mapOf(p)["nodePort"]
		declared := slices.ContainsFunc(want, func(w any) bool {
			return mapOf(w)["nodePort"] != nil && scalarEqual(mapOf(w)["nodePort"], number)
		})
		if allocated && !declared {
			c.remove(places, "spec", "ports", strconv.Itoa(j), "nodePort")
		}
	}
}

// removeTemplateLabels removes the labels that the API server copies from the template of an object without labels: the
// removal of all declared labels made it such an object.
func (c *recorder) removeTemplateLabels(places tree, desired, live map[string]any) {
	labels := func(object map[string]any) map[string]any { return mapOf(mapOf(object["metadata"])["labels"]) }
	declared, have := labels(desired), labels(live)
	inTemplate := labels(mapOf(mapOf(live["spec"])["template"]))
	if len(declared) == 0 || len(have) == 0 || len(have) != len(inTemplate) {
		return
	}
	for key, v := range have {
		if _, found := declared[key]; found && deepEqual(declared[key], v) || !deepEqual(inTemplate[key], v) {
			return
		}
	}
	for key := range have {
		path := []string{"metadata", "labels", key}
		if _, found := declared[key]; !found && (c.ignore == nil || !c.ignore(path)) {
			c.remove(places, path...)
		}
	}
}

// withoutOwners removes the undeclared owner references from the target. The garbage collector deletes an object
// without existing owners, at once or when they are deleted, so an added reference deletes the object.
func (c *recorder) withoutOwners(desired, live, target map[string]any) map[string]any {
	declared := ownerReferences(desired)
	defer func() { c.path = c.path[:0] }()
	for _, segment := range []string{"metadata", "ownerReferences"} {
		if c.push(segment); c.ignored() {
			return target
		}
	}
	var out []any
	for j, ref := range ownerReferences(live) {
		suffix := "/" + additionSuffix + hexOf(ref)
		if isOwnerIn(declared, ref) || c.adopted != nil && c.adopted(mapOf(ref)) ||
			c.ignoredAt(strconv.Itoa(j)) || c.accepts(suffix, ref) {
			continue
		}
		c.learn(suffix, ref)
		c.reportAdded(strconv.Itoa(j))
		out = append(out, ref)
	}
	return withoutElements(target, "metadata", "ownerReferences", func(ref any) bool { return isOwnerIn(out, ref) })
}

func ownerReferences(object map[string]any) []any {
	refs, _ := mapOf(object["metadata"])["ownerReferences"].([]any)
	return refs
}

// isOwnerIn reports whether a list has a reference to the same owner, by its uid.
func isOwnerIn(refs []any, ref any) bool {
	uid := mapOf(ref)["uid"]
	return slices.ContainsFunc(refs, func(r any) bool { return mapOf(r)["uid"] == uid })
}

// withoutFreeze removes an undeclared `immutable: true` of a ConfigMap or Secret from the target, with any owner. It
// forbids every later change of the data, by Helm too, and the API server never unsets it. No other undeclared field of
// a built-in kind does that: those that cannot be unset forbid only their own change.
func (c *recorder) withoutFreeze(desired, live, target map[string]any) map[string]any {
	const field = "immutable"
	kind := desired["kind"]
	if live[field] != true || desired[field] != nil || desired["apiVersion"] != "v1" ||
		kind != "ConfigMap" && kind != "Secret" {
		return target
	}
	c.push(field)
	defer c.pop()
	if c.ignored() || !c.departs(Added, true) {
		return target
	}
	c.foreign = true
	return mapOf(tree{field: {}}.cut(target))
}
