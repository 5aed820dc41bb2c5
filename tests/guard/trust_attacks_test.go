package guard

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// attacker is a user with a role in Apps.
type attacker struct {
	*kit.Env
	name string
	// before are the rights before the attacks.
	before []string
}

// attacker creates a user with a ClusterRole in Apps; with "secrets", the user may do everything with Secrets there,
// and nothing else.
func (f *trusting) attacker(role string) *attacker {
	f.Helper()
	name := fmt.Sprintf("%s-of-%s", role, f.Apps)
	if role == "secrets" {
		f.Allow(f.Apps, role, kit.User(name),
			rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
	} else {
		f.Bind(f.Apps, role, "ClusterRole/"+role, kit.User(name))
	}
	a := &attacker{Env: f.user(name), name: name}
	f.Until("the user may write Secrets", func() (any, bool) {
		a.before = f.rights(a)
		return a.before, slices.ContainsFunc(a.before, func(r string) bool { return strings.Contains(r, "secrets") })
	})
	return a
}

// user returns the fixture's environment for a user with a client certificate.
func (f *trusting) user(name string, groups ...string) *kit.Env {
	f.Helper()
	config, err := f.Cluster.UserConfig(name, groups...)
	check.NoError(f, err)
	return f.as(config)
}

// as returns the fixture's environment for another user.
func (f *trusting) as(config *rest.Config) *kit.Env {
	f.Helper()
	copied := *f.Env
	var err error
	copied.Kube, err = kubernetes.NewForConfig(config)
	check.NoError(f, err)
	copied.Dynamic, err = dynamic.NewForConfig(config)
	check.NoError(f, err)
	return &copied
}

// rights returns the rights of a user as kubectl auth can-i --list does, in the namespaces of the test and two others.
func (f *trusting) rights(a *attacker) (rights []string) {
	f.Helper()
	for _, namespace := range []string{f.Apps, f.Operator, "default", "kube-system"} {
		review, err := a.Kube.AuthorizationV1().SelfSubjectRulesReviews().Create(f.Ctx,
			&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{
				Namespace: namespace}}, metav1.CreateOptions{})
		check.NoError(f, err)
		for _, rule := range review.Status.ResourceRules {
			rights = append(rights,
				fmt.Sprint(namespace, rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames))
		}
	}
	slices.Sort(rights)
	return rights
}

// gained fails the test if a user has other rights than before the attacks.
func (f *trusting) gained(a *attacker) {
	f.Helper()
	if now := f.rights(a); !slices.Equal(a.before, now) {
		f.Errorf("%s has rights %v, before %v", a.name, now, a.before)
	}
}

// escalation is a manifest that makes a user an administrator of the namespace and of the cluster.
func (f *trusting) escalation(user string) string {
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pwned-by-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pwned-by-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s}]
`, user)
}

// attacks are ways to have a release record with an escalation enforced. Each returns the revision that the operator
// has to doubt.
var attacks = map[string]func(f *trusting, by *attacker, name, evil string) int{
	"a new revision": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil})
		return 2
	},
	"a changed record": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Manifest: evil})
		return 1
	},
	"a pending record that is deployed later": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "pending-upgrade", Manifest: evil})
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil})
		return 2
	},
	"a pending record right after a revert": func(f *trusting, by *attacker, name, evil string) int {
		f.Patch(kit.ConfigMaps, name, `{"data":{"key":"tampered"}}`)
		f.WaitField(kit.ConfigMaps, name, "data.key", "declared")
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "pending-upgrade", Manifest: evil})
		f.Patch(kit.ConfigMaps, name, `{"data":{"key":"tampered"}}`)
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil})
		return 2
	},
	"a label of a backup tool": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "superseded", Manifest: evil})
		f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "superseded", Manifest: evil,
			Labels: map[string]string{"backup": "y"}})
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil})
		f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil, Labels: map[string]string{"backup": "z"}})
		return 2
	},
	"two writers of one record in a row": func(f *trusting, by *attacker, name, evil string) int {
		f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: kit.ConfigMap(name, "second")})
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil})
		f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil, Labels: map[string]string{"backup": "z"}})
		return 2
	},
	"a deletion of the newest record": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Manifest: evil})
		f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: kit.ConfigMap(name, "second")})
		f.deleteRecord(by.Env, name, 2)
		return 1
	},
	"a record of a megabyte": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil + megabyte(name)})
		return 2
	},
	"an impersonated writer": func(f *trusting, by *attacker, name, evil string) int {
		config := rest.CopyConfig(f.Cluster.RESTConfig())
		config.Impersonate = rest.ImpersonationConfig{UserName: by.name}
		f.as(config).Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil})
		return 2
	},
	"a kind that is not served": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil + `---
apiVersion: nowhere.example.com/v1
kind: Nothing
metadata: {name: ` + name + `}
`})
		return 2
	},
	"a definition and its objects": func(f *trusting, by *attacker, name, evil string) int {
		by.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: evil + definition(name)})
		return 2
	},
}

// megabyte is a ConfigMap whose record does not compress: about a megabyte of it is what a Secret holds.
func megabyte(name string) string {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 950_000)
	for i := range text {
		text[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[random.IntN(64)]
	}
	return kit.ConfigMap("large-"+name, string(text))
}

func definition(name string) string {
	return strings.ReplaceAll(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAMEs.trust.example.com}
spec:
  group: trust.example.com
  scope: Namespaced
  names: {kind: NAME, plural: NAMEs, singular: NAME}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: trust.example.com/v1
kind: NAME
metadata: {name: one}
`, "NAME", name)
}

// No writer of Secrets gains a right by any of the attacks, whatever the role.
func TestHostile_NoWriterOfRecordsGainsARight(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	for i, role := range []string{"edit", "admin", "secrets"} {
		by := f.attacker(role)
		evil := f.escalation(by.name)
		for j, attack := range slices.Sorted(maps.Keys(attacks)) {
			name := fmt.Sprintf("app%d%c", i, 'a'+j)
			f.track(name)
			f.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "declared")})
			f.WaitReady(name, 1)
			revision := attacks[attack](f, by, name, kit.ConfigMap(name, "declared")+evil)
			f.Until(fmt.Sprintf("%s by %s is doubted", attack, role), func() (any, bool) {
				status := f.HelmRelease(name).Status
				return status, status.Trust != nil && status.Trust.Revision == revision &&
					status.Trust.State == v1alpha1.TrustStateNotTrusted
			})
			f.gained(by)
		}
	}
}

// The rights count at the time of the write: those gained later trust nothing, and those lost later take no trust.
func TestHostile_RightsCountWhenARecordIsWritten(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.track("app")
	by := f.attacker("secrets")
	by.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "forged")})
	f.doubted("app", 1, by.name)
	f.Bind(f.Apps, "edit", "ClusterRole/edit", kit.User(by.name))
	f.Until("the user may write ConfigMaps", func() (any, bool) {
		rights := f.rights(by)
		return rights, slices.ContainsFunc(rights, func(r string) bool { return strings.Contains(r, "configmaps") })
	})
	by.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "forged"),
		Labels: map[string]string{"x": "y"}})
	f.doubted("app", 1, by.name)
	by.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "forged")})
	f.WaitReady("app", 2)
	check.NoError(t, f.Kube.RbacV1().RoleBindings(f.Apps).DeleteCollection(f.Ctx, metav1.DeleteOptions{},
		metav1.ListOptions{}))
	f.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "forged")
}

// Writes of accounts that store Secrets for others make no record trusted, whatever their rights.
func TestI14_NeverWritersMakeNoRecordTrusted(t *testing.T) {
	t.Parallel()
	var replicator string
	f := newTrusting(t, witnessed, func(o *operator.ControllerOptions) {
		replicator = "replicator-of-" + o.Namespace
		o.NeverWriters = []string{"Group:nobody", "User:" + replicator}
	})
	f.inForce()
	f.track("app")
	f.user(replicator, "system:masters").Forge(kit.ForgedRecord{Name: "app", Manifest: f.clusterAdmin()})
	f.doubted("app", 1, "revision 1 was stored by user "+replicator+", whose records trust.neverWriters excludes")
	f.gainsNothing()
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "declared")})
	f.WaitReady("app", 2)
}
