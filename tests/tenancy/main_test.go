// Package tenancy tests, on a real API server with RBAC, the identity of the operator's writes, and attacks by users
// with little more than the right to write the records of a release.
package tenancy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{}) }

// deployer is the ServiceAccount for the writes of Helm releases.
const deployer = "deployer"

// fixture is kit.Fixture with additions for this suite.
type fixture struct {
	*kit.Fixture
	// subject is the operator's account.
	subject rbacv1.Subject
	// followPolicies starts the process of policies, with the operator's options and account.
	followPolicies func()
}

// newFixture starts an operator as a ServiceAccount with the rights to read everything, to impersonate
// ServiceAccounts, and to change only HelmReleases and events.
func newFixture(t *testing.T, options ...func(*operator.ControllerOptions)) *fixture {
	t.Helper()
	w := &fixture{Fixture: &kit.Fixture{Env: kit.New(t, kit.Shared)}}
	w.Proxy = w.NewProxy()
	w.subject = w.Account(w.Operator, "locker")
	w.Allow("", w.Operator, w.subject, rule("*", "*", "get", "list", "watch"), rule("", "events", "create", "patch"),
		rule("", "serviceaccounts", "impersonate"))
	w.grant(w.Operator, w.subject, rule(v1alpha1.SchemeGroupVersion.Group, "*", "*"))
	config, err := kit.Shared.ServiceAccountConfig(t.Context(), w.Operator, "locker")
	check.NoError(t, err)
	options = append([]func(*operator.ControllerOptions){func(o *operator.ControllerOptions) {
		o.Impersonate, o.SkipCRD = true, true
	}}, options...)
	w.Running = kit.StartOperator(t, w.Proxy.Via(config), w.Operator, options...)
	w.followPolicies = func() { kit.StartPolicies(t, w.Proxy.Via(config), w.Operator, options...) }
	return w
}

// byDefault names the account of HelmReleases that name none.
func byDefault(o *operator.ControllerOptions) { o.DefaultServiceAccount = deployer }

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// workloads are the rights of a namespace's deployer for the charts of these tests.
func workloads() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{rule("", "configmaps", "*"), rule("apps", "deployments", "*"),
		rule("rbac.authorization.k8s.io", "rolebindings", "*")}
}

// user is the API server's user name of a subject.
func user(s rbacv1.Subject) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	return s.Name
}

// grant gives a subject rights in a namespace, and returns the name of the RoleBinding.
func (w *fixture) grant(namespace string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) (name string) {
	w.Helper()
	name = "test-" + rand.String(5)
	w.Allow(namespace, name, subject, rules...)
	return name
}

// administer makes a subject an administrator of the cluster.
func (w *fixture) administer(subject rbacv1.Subject) {
	w.Helper()
	w.Bind("", w.Operator+"-"+subject.Name, "ClusterRole/cluster-admin", subject)
}

// tenant creates an account with the right to deploy in a namespace, and returns the environment of a user with the
// right to write release records there.
func (w *fixture) tenant(namespace string) (account rbacv1.Subject, person *kit.Env) {
	w.Helper()
	account = w.Account(namespace, deployer)
	w.grant(namespace, account, workloads()...)
	mallory := kit.User("mallory-of-" + namespace)
	w.grant(namespace, mallory, rule("", "secrets", "*"))
	config, err := kit.Shared.UserConfig(mallory.Name)
	check.NoError(w, err)
	person = w.At(namespace)
	person.Kube, err = kubernetes.NewForConfig(config)
	check.NoError(w, err)
	person.Dynamic, err = dynamic.NewForConfig(config)
	check.NoError(w, err)
	// The authorizer reads roles and bindings from a watch.
	w.Until("the person may write Secrets", func() (any, bool) {
		asked := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "secrets"}
		answer, err := person.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(w.Ctx,
			&authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked},
			}, metav1.CreateOptions{})
		return err, err == nil && answer.Status.Allowed
	})
	return account, person
}

// lockIn creates a HelmRelease, of that name, for a release in a namespace.
func (w *fixture) lockIn(namespace, name, release string, change ...func(*v1alpha1.HelmRelease)) {
	w.Helper()
	w.CreateHelmRelease(name, append(change, func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: namespace, Name: release}
	})...)
}

// writtenBy fails the test unless all writes to objects, dry runs too, were made in the name of a user, and some were.
func (w *fixture) writtenBy(user string) {
	w.Helper()
	made := 0
	for _, r := range w.Proxy.Writes() {
		if kit.IsOwn(r) {
			if r.Impersonated != "" {
				w.Errorf("as %s: %s", r.Impersonated, r)
			}
			continue
		}
		made++
		if r.Impersonated != user {
			w.Errorf("not as %s but as %q: %s", user, r.Impersonated, r)
		}
	}
	if made == 0 {
		w.Error("nothing was written")
	}
}

// isWrite matches the writes of the operator to a resource: real ones, not dry runs.
func isWrite(resource, method string) cluster.Match {
	return cluster.ForResource(resource, method).And(cluster.IsReal)
}

// event waits for an event about a HelmRelease with a reason and a message with all the wanted parts.
func (w *fixture) event(name, reason string, parts ...string) {
	w.Helper()
	w.Until(fmt.Sprintf("an event %s about %s has %q", reason, name, parts), func() (any, bool) {
		list, err := w.Kube.CoreV1().Events(w.Operator).List(w.Ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + reason})
		check.NoError(w, err)
		return list.Items, slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return containsAll(e.Message, parts)
		})
	})
}

func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}
