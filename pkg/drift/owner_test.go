package drift

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestOfTwoToolsTheOneThatWroteLastIsHelm(t *testing.T) {
	const at, later = 0, 1
	owning := func(more string) string { return helmFields[:len(helmFields)-1] + more + "}" }
	for name, c := range map[string]struct {
		one, other metav1.ManagedFieldsEntry
		want       string
	}{
		"the older is named first": {wrote("helm-controller", apply, "", at, helmFields),
			wrote("helm", apply, "", later, helmFields), "helm"},
		"the newer is named first": {wrote("helm", apply, "", later, helmFields),
			wrote("helm-controller", apply, "", at, helmFields), "helm"},
		"Flux wrote last": {wrote("helm", apply, "", at, owning(`,"f:data":{}`)),
			wrote("helm-controller", apply, "", later, helmFields), "helm-controller"},
		"an update after an apply": {wrote("helm-controller", apply, "", at, helmFields),
			wrote("helm", update, "", later, helmFields), "helm"},
		"an apply after an update": {wrote("helm", apply, "", later, helmFields),
			wrote("helm-controller", update, "", at, helmFields), "helm"},
		"a tie, and one owns more": {wrote("helm", apply, "", at, helmFields),
			wrote("helm-controller", apply, "", at, owning(`,"f:data":{"f:key":{}}`)), "helm-controller"},
		"a tie in all": {wrote("helm-controller", apply, "", at, helmFields),
			wrote("helm", apply, "", at, helmFields), "helm"},
		"a tie in all, the other way": {wrote("helm", apply, "", at, helmFields),
			wrote("helm-controller", apply, "", at, helmFields), "helm"},
		"who copied the object later": {wrote("helm", apply, "", at, helmFields),
			wrote("kubectl", apply, "", later, helmFields), "helm"},
		"no tool is known by its name": {wrote("pulumi", apply, "", at, helmFields),
			wrote("kubectl", apply, "", later, helmFields), "pulumi"},
		"one that owns less, and is late": {wrote("helm", apply, "", at, helmFields),
			wrote("xhelm", "", "", later, `{"f:meta.helm.sh/release-name": {}}`), "helm"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, ManagedBy(entries{c.one, c.other}).Manager, c.want)
		})
	}
}

func TestReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		owner      Owner
		manager    string
		serverSide bool
		want       bool
	}{
		"Helm":                              {Owner{"helm", "Update", true}, "helm", true, false},
		"another tool built on Helm":        {Owner{"helm-controller", "Apply", true}, "helm", true, false},
		"a tool without helm in its name":   {Owner{"pulumi", "Apply", true}, "pulumi", true, false},
		"its only object":                   {Owner{"pulumi", "Apply", true}, "", true, false},
		"its record, restored from backup":  {Owner{"pulumi", "Apply", true}, "velero-server", true, false},
		"a client that created the object":  {Owner{"kubectl-replace", "Update", true}, "helm", true, true},
		"the same, and Helm's is not known": {Owner{"kubectl-replace", "Update", true}, "", true, true},
		"a client that applied the object":  {Owner{"kubectl", "Apply", true}, "helm", true, true},
		"a client, and Helm 3":              {Owner{"kubectl-replace", "Update", true}, "helm", false, true},
		"an adopted object, and Helm 3":     {Owner{"kubectl-annotate", "Update", true}, "", false, false},
	} {
		check.Equal(t, test.owner.Replaced(func() string { return test.manager }, test.serverSide), test.want, "%v",
			name)
	}
}

func TestWriterOf(t *testing.T) {
	const data, labels = `{"f:data":{".":{},"f:release":{}},"f:type":{}}`, `{"f:metadata":{"f:labels":{"f:x":{}}}}`
	for name, test := range map[string]struct {
		fields entries
		want   string
	}{
		"no managed fields": {},
		"Helm's command":    {entries{wrote("Helm", update, "", 1, data)}, "helm"},
		"another tool":      {entries{wrote("helm-controller", update, "", 1, data)}, "helm-controller"},
		"beside a labeller": {entries{
			wrote("kubectl-label", update, "", 2, labels), wrote("helm", update, "", 1, data)}, "helm"},
		"our own name":                     {entries{wrote(managers.Revert, update, "", 1, data)}, ""},
		"Kubernetes":                       {entries{wrote("kube-controller-manager", update, "", 1, data)}, ""},
		"before the server tracked fields": {entries{wrote("before-first-apply", update, "", 1, data)}, ""},
	} {
		check.Equal(t, WriterOf(test.fields), test.want, "%v", name)
	}
}
