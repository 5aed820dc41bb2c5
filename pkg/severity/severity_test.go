package severity

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDefault(t *testing.T) {
	table, err := Default()
	check.NoError(t, err)
	const rbac, apps = "rbac.authorization.k8s.io", "apps"
	for _, c := range []struct {
		group, kind, path string
		want              Level
		reason            string
	}{
		{rbac, "Role", "/rules/0/verbs", High, "who may do what"},
		{rbac, "RoleBinding", "/subjects", High, "who may do what"},
		{rbac, "Role", "/metadata/labels/team", Low, "labels and annotations"},
		{rbac, "ClusterRole", "", High, "who may do what"},
		{"example.com", "Role", "/rules/0/verbs", Medium, ""},
		{apps, "Deployment", "/spec/template/spec/containers/0/image", High, "the code that runs"},
		{apps, "Deployment", "/spec/template/spec/containers/1", High, "the code that runs"},
		{apps, "Deployment", "/spec/template/spec/initContainers", High, "the code that runs"},
		{apps, "Deployment", "/spec/template/spec/containers/0/securityContext/privileged", High, "the rights of containers"},
		{apps, "Deployment", "/spec/template/spec/securityContext", High, "the rights of containers"},
		{"", "Pod", "/spec/hostNetwork", High, "the rights of containers"},
		{"batch", "CronJob", "/spec/jobTemplate/spec/template/spec/containers/0/command/1", High, "the code that runs"},
		{"argoproj.io", "Rollout", "/spec/template/spec/containers/0/image", High, "the code that runs"},
		{apps, "Deployment", "", High, "the rights of containers"},
		{apps, "Deployment", "/spec/replicas", Medium, "capacity"},
		{apps, "Deployment", "/spec/template/spec/containers/0/resources/limits/cpu", Medium, "capacity"},
		{apps, "Deployment", "/spec/template/spec/containers/0/env/0", Medium, ""},
		{apps, "Deployment", "/spec/template/metadata/annotations/note", Low, "labels and annotations"},
		{apps, "Deployment", "/metadata/ownerReferences/0", Medium, "when the object is deleted"},
		{apps, "Deployment", "/spec/template", Medium, ""},
		{"admissionregistration.k8s.io", "MutatingWebhookConfiguration", "/webhooks/0/rules", High,
			"changes or refuses requests to the API server"},
		{"networking.k8s.io", "NetworkPolicy", "/spec/ingress", High, "who reaches whom"},
		{"cilium.io", "CiliumNetworkPolicy", "/spec", High, "who reaches whom"},
		{"", "Namespace", "/metadata/labels/pod-security.kubernetes.io~1enforce", High, "which Pods the namespace admits"},
		{"", "Namespace", "/metadata/labels", High, "which Pods the namespace admits"},
		{"", "Namespace", "/metadata/labels/team", Low, "labels and annotations"},
		{"", "ConfigMap", "/data/key", Medium, ""},
		{"", "ConfigMap", "", Medium, ""},
		{"", "ConfigMap", "/metadata", Medium, "when the object is deleted"},
	} {
		level, reason := table.Of(Object{Group: c.group, Kind: c.kind}, c.path)
		check.That(t, level == c.want && reason == c.reason, "%s.%s %s is %s (%q), want %s (%q)", c.kind, c.group, c.path,
			level, reason, c.want, c.reason)
	}
}

func TestRead(t *testing.T) {
	const head = "apiVersion: cli.helm-locker.cattle.io/v1\nkind: DriftSeverities\n"
	for name, c := range map[string]struct{ text, want string }{
		"a table":  {head + "default: low\nrules: [{severity: high, paths: [/data]}]", ""},
		"no rules": {head + "default: low", ""},
		"no YAML":  {"{", "parse the severities"},
		"another kind": {"kind: ReleaseDriftList",
			`no DriftSeverities of cli.helm-locker.cattle.io/v1, but "ReleaseDriftList"`},
		"no default":       {head, `default: severity "" is none of low, medium, high`},
		"an unknown field": {head + "default: low\nrule: []", `unknown field "rule"`},
		"an unknown severity": {head + "default: low\nrules: [{severity: top, paths: [/a]}]",
			`rules[0]: severity "top" is none of`},
		"a rule without paths": {head + "default: low\nrules: [{severity: low, paths: [/a]}, {severity: low}]",
			"rules[1]: it has no paths"},
		"a path that is none": {head + "default: low\nrules: [{severity: low, paths: [spec.replicas]}]",
			`rules[0]: path "spec.replicas" is no JSON pointer`},
		"two depths": {head + "default: low\nrules: [{severity: low, paths: [/**/a/**]}]", "more than one **"},
		"a kind that is none": {head + "default: low\nrules: [{severity: low, kinds: [\"[\"], paths: [/a]}]",
			`kind "[" is no KIND`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(c.text))
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestAtLeast(t *testing.T) {
	for i, level := range levels {
		for j, other := range levels {
			check.Equal(t, level.AtLeast(other), i >= j, "%s at least %s", level, other)
		}
	}
}
