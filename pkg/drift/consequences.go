package drift

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// withoutConsequences removes from the target the side effects of a reverted change: values that the API server set
// then, and would keep afterwards.
func (c *recorder) withoutConsequences(desired, live, target map[string]any) map[string]any {
	switch kind := desired["kind"]; {
	case kind == "Service" && desired["apiVersion"] == "v1":
		return c.withoutNodePorts(desired, target)
	case kind == "ReplicationController" && desired["apiVersion"] == "v1":
		return c.withoutTemplateLabels(desired, live, target)
	}
	return target
}

// withoutNodePorts removes the undeclared node ports of a Service that is declared without their allocation, if a
// change of its type or of the allocation made the API server allocate them. A revert of that change alone does not
// free them.
func (c *recorder) withoutNodePorts(desired, target map[string]any) map[string]any {
	isCause := func(change Change) bool {
		return change.Path == "/spec/type" || change.Path == "/spec/allocateLoadBalancerNodePorts"
	}
	spec, _ := desired["spec"].(map[string]any)
	if spec["type"] != string(corev1.ServiceTypeLoadBalancer) || spec["allocateLoadBalancerNodePorts"] != false ||
		!slices.ContainsFunc(c.changes, isCause) {
		return target
	}
	have, _ := target["spec"].(map[string]any)
	want, _ := spec["ports"].([]any)
	ports, _ := have["ports"].([]any)
	ports = slices.Clone(ports)
	for j, p := range ports {
		port, _ := p.(map[string]any)
		if _, allocated := port["nodePort"]; !allocated || isPortDeclared(want, port["nodePort"]) {
			continue
		}
		without := maps.Clone(port)
		delete(without, "nodePort")
		ports[j] = without
		c.path = append(c.path[:0], "spec", "ports", strconv.Itoa(j))
		c.reportAdded("nodePort")
		c.path = c.path[:0]
	}
	target, have = maps.Clone(target), maps.Clone(have)
	have["ports"], target["spec"] = ports, have
	return target
}

func isPortDeclared(ports []any, nodePort any) bool {
	return slices.ContainsFunc(ports, func(p any) bool {
		port, _ := p.(map[string]any)
		return port["nodePort"] != nil && scalarEqual(port["nodePort"], nodePort)
	})
}

// withoutTemplateLabels removes the labels that the API server copies from the template of an object without labels:
// the removal of all declared labels made it such an object.
func (c *recorder) withoutTemplateLabels(desired, live, target map[string]any) map[string]any {
	declared := nested(desired, "metadata", "labels")
	have := nested(live, "metadata", "labels")
	inTemplate := nested(live, "spec", "template", "metadata", "labels")
	if len(declared) == 0 || len(have) == 0 || len(have) != len(inTemplate) {
		return target
	}
	for key, v := range have {
		if _, found := declared[key]; found && deepEqual(declared[key], v) || !deepEqual(inTemplate[key], v) {
			return target
		}
	}
	metadata, _ := target["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	labels = maps.Clone(labels)
	c.path = append(c.path[:0], "metadata", "labels")
	for key := range have {
		if _, found := declared[key]; !found && !c.ignoredAt(key) {
			delete(labels, key)
			c.reportAdded(key)
		}
	}
	c.path = c.path[:0]
	target, metadata = maps.Clone(target), maps.Clone(metadata)
	metadata["labels"], target["metadata"] = labels, metadata
	return target
}

// nested returns the map at a path of keys, nil for none.
func nested(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		m = mapOf(m[key])
	}
	return m
}
