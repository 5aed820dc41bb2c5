package drift

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// someManagers returns managedFields as an object has them.
func someManagers(t testing.TB, fields string) []metav1.ManagedFieldsEntry {
	t.Helper()
	var live map[string]any
	check.NoError(t, json.Unmarshal([]byte(`{"metadata": {"managedFields": `+fields+`}}`), &live))
	return (&unstructured.Unstructured{Object: live}).GetManagedFields()
}

func TestOfTwoToolsTheOneThatWroteLastIsHelm(t *testing.T) {
	const at, later = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	entry := func(manager, operation, at, more string) string {
		return fmt.Sprintf(`{"manager": %q, "operation": %q, "time": %q, "fieldsV1": %s}`, manager, operation, at,
			helmFields[:len(helmFields)-1]+more+"}")
	}
	for name, c := range map[string]struct {
		fields, want string
	}{
		"the older is named first": {entry("helm-controller", "Apply", at, "") + "," +
			entry("helm", "Apply", later, ""), "helm"},
		"the newer is named first": {entry("helm", "Apply", later, "") + "," +
			entry("helm-controller", "Apply", at, ""), "helm"},
		"Flux wrote last": {entry("helm", "Apply", at, `,"f:data":{}`) + "," +
			entry("helm-controller", "Apply", later, ""), "helm-controller"},
		"an update after an apply": {entry("helm-controller", "Apply", at, "") + "," +
			entry("helm", "Update", later, ""), "helm"},
		"an apply after an update": {entry("helm", "Apply", later, "") + "," +
			entry("helm-controller", "Update", at, ""), "helm"},
		"a tie, and one owns more": {entry("helm", "Apply", at, "") + "," +
			entry("helm-controller", "Apply", at, `,"f:data":{"f:key":{}}`), "helm-controller"},
		"a tie in all": {entry("helm-controller", "Apply", at, "") + "," + entry("helm", "Apply", at, ""), "helm"},
		"a tie in all, the other way": {entry("helm", "Apply", at, "") + "," +
			entry("helm-controller", "Apply", at, ""), "helm"},
		"who copied the object later": {entry("helm", "Apply", at, "") + "," + entry("kubectl", "Apply", later, ""), "helm"},
		"no tool is known by its name": {entry("pulumi", "Apply", at, "") + "," +
			entry("kubectl", "Apply", later, ""), "pulumi"},
		"one that owns less, and is late": {entry("helm", "Apply", at, "") + `, {"manager": "xhelm", "time": "` +
			later + `", "fieldsV1": {"f:meta.helm.sh/release-name": {}}}`, "helm"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, ManagedBy(someManagers(t, "["+c.fields+"]")).Manager, c.want)
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
