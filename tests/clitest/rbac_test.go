package clitest

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// access is a chart with a Role that grants rights, and a binding to a ClusterRole.
const access = `apiVersion: v1
kind: ConfigMap
metadata: {name: access}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: access}
rules: [{apiGroups: [""], resources: [pods], verbs: [watch, get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: access}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default}]
`

func TestRBAC_Values(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "access", w.Chart("access", access))
	w.app("rbac", "access", "-o", "values").is(0, `# What helm-locker needs to lock APPS/access.
rbac:
  profile: scoped
  rules:
  - apiGroups:
    - ""
    resources:
    - configmaps
    verbs:
    - list
    - watch
  - apiGroups:
    - rbac.authorization.k8s.io
    resources:
    - rolebindings
    - roles
    verbs:
    - list
    - watch
  - apiGroups:
    - ""
    namespaces:
    - APPS
    resources:
    - configmaps
    verbs:
    - get
    - create
    - patch
    - delete
  - apiGroups:
    - ""
    namespaces:
    - APPS
    resources:
    - pods
    verbs:
    - get
    - watch
  - apiGroups:
    - ""
    namespaces:
    - APPS
    resources:
    - secrets
    verbs:
    - get
  - apiGroups:
    - rbac.authorization.k8s.io
    namespaces:
    - APPS
    resourceNames:
    - view
    resources:
    - clusterroles
    verbs:
    - bind
  - apiGroups:
    - rbac.authorization.k8s.io
    namespaces:
    - APPS
    resources:
    - rolebindings
    - roles
    verbs:
    - get
    - create
    - patch
    - delete
`, `note: Role APPS/access: to restore it the operator has to have itself what it grants
note: RoleBinding APPS/access: to restore it the operator may give ClusterRole view to any subject in namespace APPS
`)
	w.app("rbac", "access", "-o", "values", "--names").says(0,
		"resourceNames:\n    - access\n    resources:\n    - configmaps\n    verbs:\n    - get\n    - patch\n    - delete\n")
	// Twice the same release is once, however it is named.
	once := w.app("rbac", "access")
	twice := w.app("rbac", w.Apps+"/access", "access")
	check.That(t, once.stdout == twice.stdout && strings.Contains(once.stdout, "kind: ClusterRoleBinding"),
		"different:\n%s\n%s", once.stdout, twice.stdout)
}

func TestRBAC_ChoosesReleases(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "access", w.Chart("access", access))
	w.app("rbac").says(0, "# What helm-locker needs to lock APPS/access, APPS/shop.\n")
	other := w.For(t)
	other.Apps = w.Namespace(w.Apps + "-2")
	other.Helm(kit.Shared.Helm4(), "install", "access", w.Chart("access", access))
	w.cli("rbac", "-A", "access").says(0, w.neutral(other.Apps)+"/access", "APPS/access", "namespace: "+
		w.neutral(other.Apps)+"\n")

	w.app("rbac",
		"acess").is(5, "", `helm-locker: release APPS/acess does not exist: namespace "APPS" has no record of it in a Secret
  did you mean access?
`)
	w.cli("rbac", "-A", "no-such-release").is(5, "",
		"helm-locker: there is no release \"no-such-release\" in any namespace\n")
	w.cli("rbac", "-A", w.Apps+"/access").says(1, "names a namespace, and --all-namespaces means all")
	w.app("rbac", "access", "--service-account", "lockers:locker").says(1, `"lockers:locker" is no name of a ServiceAccount; `+
		"--helmrelease-namespace is its namespace")
	w.app("rbac", "/access").says(1, `"/access" is no name of a release`)
	w.cli("rbac", "-n", w.Namespace(w.Apps+"-empty")).says(5, "there is no release in namespace APPS-empty")
	w.app("rbac", "access", "-o", "json").says(1, "none of yaml, values")
}

// A release with an unserved kind, and an undeployed one, are covered as well as possible, and the output states
// that.
func TestRBAC_SaysWhatItCannotCover(t *testing.T) {
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "odd", Status: "failed", Manifest: kit.ConfigMap("odd", "x") +
		"---\napiVersion: none.example.org/v1\nkind: None\nmetadata: {name: odd}\n"})
	w.app("rbac", "odd").says(0, "note: revision 1 of release APPS/odd is failed\n",
		"note: not covered: the API server does not serve the kind of None.none.example.org odd; run this again when its CustomResourceDefinition is there\n", "configmaps")
	w.Forge(kit.ForgedRecord{Name: "broken", Manifest: "a: [b"})
	w.app("rbac", "broken").says(1, "the manifest of revision 1 of release APPS/broken does not parse")
}
