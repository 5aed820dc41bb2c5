package tamper

import (
	"strings"

	"github.com/rancher/helm-locker/pkg/drift"
)

// mark is part of every addition's name.
const mark = "tamper.example.com/added"

// additions returns ways to add undeclared fields. Their class is the expected result: addition and mergeKey for
// those that damage an atomic declared list or map, left for the others.
func (g *generator) additions() []mutation {
	found := []mutation{
		g.insert("label", "x", "metadata", "labels", mark),
		g.insert("annotation", "x", "metadata", "annotations", mark),
		g.appendTo("finalizer", "tamper.example.com/hold", "metadata", "finalizers"),
	}
	m := func(pairs ...any) map[string]any {
		object := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			object[pairs[i].(string)] = pairs[i+1]
		}
		return object
	}
	switch g.declared.GetKind() {
	case "ConfigMap":
		found = append(found, g.insert("data key", "x", "data", "added"),
			g.insert("binary data key", "eA==", "binaryData", "added.bin"))
	case "Secret":
		found = append(found, g.insert("data key", "eA==", "data", "added"))
	case "Service":
		found = append(found, g.appendTo("port", m("name", "added", "port", int64(6666), "protocol", "TCP"), "spec",
			"ports"), g.insert("selector", "x", "spec", "selector", "added"))
	case "Role", "ClusterRole":
		if _, declared := g.declared.Object["rules"]; declared {
			found = append(found, g.appendTo("rule",
				m("apiGroups", []any{"added.example.com"}, "resources", []any{"*"}, "verbs", []any{"get"}), "rules"))
		}
	case "RoleBinding", "ClusterRoleBinding":
		found = append(found, g.appendTo("subject",
			m("kind", "User", "name", "added", "apiGroup", "rbac.authorization.k8s.io"), "subjects"))
	case "Ingress":
		found = append(found, g.appendTo("rule", m("host", "added.example.com"), "spec", "rules"))
	case "NetworkPolicy":
		found = append(found, g.appendTo("rule", m("ports", []any{m("protocol", "TCP", "port", int64(6666))}), "spec",
			"ingress"))
	case "ServiceAccount":
		found = append(found, g.appendTo("image pull secret", m("name", "added"), "imagePullSecrets"))
	case "ResourceQuota":
		found = append(found, g.insert("limit", "100", "spec", "hard", "services"))
	case "LimitRange":
		found = append(found, g.appendTo("limit", m("type", "Pod", "max", m("cpu", "64")), "spec", "limits"))
	case "PodDisruptionBudget":
		found = append(found, g.insert("field", "AlwaysAllow", "spec", "unhealthyPodEvictionPolicy"))
	case "HorizontalPodAutoscaler":
		found = append(found, g.appendTo("metric", m("type", "Resource",
			"resource", m("name", "memory", "target", m("type", "Utilization", "averageUtilization", int64(77)))),
			"spec", "metrics"))
	case "CronJob":
		found = append(found, g.insert("field", int64(77), "spec", "startingDeadlineSeconds"))
		found = append(found, g.inPod("spec", "jobTemplate", "spec", "template")...)
	case "CustomResourceDefinition":
		found = append(found, g.appendTo("category", "added", "spec", "names", "categories"))
	case "Tree":
		found = append(found, g.insert("map key", "x", "spec", "labels", "added"),
			g.insert("free key", m("a", "b"), "spec", "anything", "added"), g.appendTo("tag", "added", "spec", "tags"),
			g.appendTo("list-map element", m("name", "added", "port", int64(1)), "spec", "listeners"),
			g.appendTo("list element", m("name", "added"), "spec", "branches"))
	case "Deployment", "StatefulSet", "DaemonSet":
		found = append(found, g.insert("field", int64(7), "spec", "minReadySeconds"))
		found = append(found, g.inPod("spec", "template")...)
	}
	if g.declared.GetKind() == "ValidatingWebhookConfiguration" || g.declared.GetKind() == "MutatingWebhookConfiguration" {
		found = append(found, g.appendTo("webhook",
			m("name", "added.tamper.example.com", "admissionReviewVersions", []any{"v1"}, "sideEffects", "None",
				"failurePolicy", "Ignore", "clientConfig", m("url", "https://127.0.0.1:9/added")), "webhooks"))
	}
	return found
}

// inPod returns additions to a Pod template.
func (g *generator) inPod(template ...string) []mutation {
	in := func(path ...string) []string { return append(append([]string{}, template...), path...) }
	spec := func(path ...string) []string { return in(append([]string{"spec"}, path...)...) }
	first := func(field string) []string { return spec("containers", "0", field) }
	found := []mutation{
		g.insert("template label", "x", in("metadata", "labels", mark)...),
		g.insert("template annotation", "x", in("metadata", "annotations", mark)...),
		g.insert("node selector", "x", spec("nodeSelector", mark)...),
		g.insert("field", true, spec("shareProcessNamespace")...),
		g.insert("scheduler", "added", spec("schedulerName")...),
		g.appendTo("env", map[string]any{"name": "ADDED", "value": "x"}, first("env")...),
		g.appendTo("port", map[string]any{"name": "added", "containerPort": int64(6666), "protocol": "TCP"},
			first("ports")...),
		g.appendTo("mount", map[string]any{"name": "added-with", "mountPath": "/added"}, first("volumeMounts")...),
		g.appendTo("container", map[string]any{"name": "added", "image": "example.com/added"}, spec("containers")...),
		g.appendTo("init container", map[string]any{"name": "added-init", "image": "example.com/added"},
			spec("initContainers")...),
		g.appendTo("volume", map[string]any{"name": "added", "emptyDir": map[string]any{}}, spec("volumes")...),
		g.appendTo("toleration", map[string]any{"key": "added", "operator": "Exists"}, spec("tolerations")...),
		g.appendTo("argument", "--added", first("args")...),
		g.appendTo("host alias", map[string]any{"ip": "192.0.2.99", "hostnames": []any{"added.example.com"}},
			spec("hostAliases")...),
	}
	for i := range found {
		if strings.HasPrefix(found[i].what, "add mount ") {
			// It needs a volume, and brings one.
			volume := g.appendTo("", map[string]any{"name": "added-with", "emptyDir": map[string]any{}}, spec("volumes")...)
			found[i].requests[0] = both(volume.requests[0], found[i].requests[0])
		}
	}
	// The last of two variables of one name is active, so this one replaces a declared one.
	if declared, ok := at(g.declared.Object, append(first("env"), "0", "name")); ok {
		override := g.appendTo("second env of a name", map[string]any{"name": declared, "value": "overridden"},
			first("env")...)
		override.class = mergeKey
		found = append(found, override)
	}
	return found
}

// insert sets an undeclared key in a map that may not exist.
func (g *generator) insert(what string, value any, path ...string) mutation {
	m := mutation{class: left, what: "add " + what + " " + drift.Pointer(path...)}
	if _, declared := at(g.declared.Object, path); declared {
		return m
	}
	if _, declared := at(g.declared.Object, path[:len(path)-1]); declared && isOneValue(path[:len(path)-1]) {
		m.class = addition
	}
	for depth := len(path); depth > 0; depth-- {
		if parent, there := at(g.live.Object, path[:depth-1]); there && parent != nil {
			m.requests = []request{jsonPatch(operation{Op: "add", Path: drift.Pointer(path[:depth]...),
				Value: nest(value, path[depth:])})}
			break
		}
	}
	return m
}

func nest(value any, path []string) any {
	for i := len(path) - 1; i >= 0; i-- {
		value = map[string]any{path[i]: value}
	}
	return value
}

// appendTo adds an element to a list that may not exist.
func (g *generator) appendTo(what string, element any, path ...string) mutation {
	if live, there := at(g.live.Object, path); !there || live == nil {
		m := g.insert(what, []any{element}, path...)
		return m
	}
	m := mutation{class: left, what: "add " + what + " " + drift.Pointer(path...),
		requests: []request{jsonPatch(operation{Op: "add", Path: drift.Pointer(path...) + "/-", Value: element})}}
	if _, declared := at(g.declared.Object, path); declared && !g.isMerged(path) {
		m.class = addition
	}
	return m
}

// both does two JSON patches in one.
func both(a, b request) request {
	a.body = []byte(strings.TrimSuffix(string(a.body), "]") + "," + strings.TrimPrefix(string(b.body), "["))
	return a
}
