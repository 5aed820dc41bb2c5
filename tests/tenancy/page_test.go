package tenancy

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// serving is a fixture with a page beside the operator. The page has its own account and the same proxy.
type serving struct {
	*fixture
	page *kit.Operator
}

// newServing starts an operator that serves its metrics, and a page, to authorized users.
func newServing(t *testing.T) *serving {
	t.Helper()
	w := newFixture(t, byDefault, func(o *operator.ControllerOptions) {
		o.MetricsAddress, o.MetricsAuth = "127.0.0.1:0", true
	})
	w.Bind("", w.Operator+"-reviewer", "ClusterRole/system:auth-delegator", w.subject)
	account := w.Proxy.Via(w.PageAccount("page"))
	return &serving{w, kit.StartPage(t, account, w.Operator, func(o *page.RunOptions) {
		o.Auth, o.Impersonate, o.DefaultServiceAccount = true, true, deployer
	})}
}

// token returns a token of a new ServiceAccount in the operator's namespace.
func (w *fixture) token(name string) (rbacv1.Subject, string) {
	w.Helper()
	subject := w.Account(w.Operator, name)
	config, err := kit.Shared.ServiceAccountConfig(w.Ctx, w.Operator, name)
	check.NoError(w, err)
	return subject, config.BearerToken
}

// get asks the page, or the operator for its metrics, for a path, with a token.
func (w *serving) get(what, path, token string) (status int, body string) {
	w.Helper()
	server := w.Running
	if what == "page" {
		server = w.page
	}
	return kit.HTTPGet(w, w.URL(server, what)+path, token)
}

func (w *serving) diffOf(name, token string) (status int, body string) {
	w.Helper()
	return w.get("page", "/diff?"+url.Values{"namespace": {w.Operator}, "name": {name}}.Encode(), token)
}

const deployment = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: registry.example/web, env: [{name: URL, value: %s}]}]}
`

// deploy creates a Deployment with a value in its environment.
func (w *fixture) deploy(namespace, value string) {
	w.Helper()
	objects, err := kit.DecodeManifest(fmt.Sprintf(deployment, namespace, value))
	check.NoError(w, err)
	_, err = w.In(kit.Deployments, namespace).Create(w.Ctx, objects[0], metav1.CreateOptions{})
	check.NoError(w, err)
}

// A forged manifest declares objects of another namespace. The account of the release may not change them, so the page
// must not show them as drift of that release, not even to a viewer with all rights. The page reads the cluster with
// the viewer's token only.
func TestAttack_ThePageIsNoConfusedDeputy(t *testing.T) {
	t.Parallel()
	w := newServing(t)
	account, person := w.tenant(w.Apps)
	other := w.Namespace(w.Apps + "-other")
	hidden := w.configMap(other, "hidden")
	w.deploy(other, "postgres://the-url-of-another")
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared") +
		kit.ConfigMapIn(other, hidden.GetName(), "guess") + fmt.Sprintf(deployment, other, "guess") + fmt.Sprintf(
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: guess, namespace: %s}\nstringData: {password: letmein}\n", other,
	)})
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, "ConfigMap "+other+"/hidden is not protected")
	viewer, token := w.token("viewer")
	w.administer(viewer)
	w.Proxy.Reset()

	status, body := w.diffOf("app", token)
	check.Must(t, status == http.StatusOK && strings.Contains(body, `"object":"ConfigMap `+w.Apps+`/settings"`),
		"the comparison is answered with %d %s", status, body)
	for _, id := range []string{"ConfigMap " + other + "/hidden", "Deployment " + other + "/web", "Secret " + other +
		"/guess"} {
		check.That(t,
			strings.Contains(body, id+": not owned: "+user(account)+" may not change it") &&
				!strings.Contains(body, `"object":"`+id), "%s is not withheld: %s", id, body)
	}
	for _, r := range w.Proxy.Requests() {
		if r.Method == http.MethodGet && !r.Query.Has("watch") && strings.Contains(r.Path, "/namespaces/"+other+"/") {
			t.Errorf("it was read: %s", r)
		}
		if r.Impersonated != "" && r.Impersonated != user(account) {
			t.Errorf("a request in the name of %q: %s", r.Impersonated, r)
		}
	}
}

// A viewer sees only objects that the API server lets them read.
func TestViewer_SeesWhatTheyMayGet(t *testing.T) {
	t.Parallel()
	w := newServing(t)
	w.tenant(w.Apps)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared") +
		fmt.Sprintf(deployment, w.Apps, "declared")})
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.configMap(w.Apps, "settings")
	w.deploy(w.Apps, "postgres://the-url")
	w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonDetectOnly)
	viewer, token := w.token("viewer")
	for _, tc := range []struct {
		what, path string
	}{{"page", "/events"}, {"page", "/diff?namespace=" + w.Operator + "&name=app"}, {"metrics", "/metrics"}} {
		if status, body := w.get(tc.what, tc.path, ""); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", tc.path, status, body)
		}
		if status, body := w.get(tc.what, tc.path, token+"x"); status != http.StatusUnauthorized {
			t.Errorf("%s with a token that is not valid: %d %s", tc.path, status, body)
		}
		if status, body := w.get(tc.what, tc.path, token); status != http.StatusForbidden ||
			!strings.Contains(body, user(viewer)) {
			t.Errorf("%s without the right: %d %s", tc.path, status, body)
		}
	}
	subject, guest := w.token("guest")
	w.grant(w.Operator, subject, rule(v1alpha1.SchemeGroupVersion.Group, "helmreleases", "get", "list"))
	w.grant(w.Apps, subject, rule("", "configmaps", "get"))
	if status, body := w.diffOf("app", guest); status != http.StatusBadGateway || !strings.Contains(body, "secrets") {
		t.Errorf("without a right to the record the comparison is answered with %d %s", status, body)
	}
	w.grant(w.Apps, subject, rule("", "secrets", "get", "list"))
	var body string
	w.Eventually("the guest compares", func() (err error) {
		var status int
		if status, body = w.diffOf("app", guest); status != http.StatusOK ||
			!strings.Contains(body, `"object":"ConfigMap `+w.Apps+`/settings"`) {
			err = fmt.Errorf("answered with %d %s", status, body)
		}
		return err
	})
	check.That(t, !strings.Contains(body, "the-url") && strings.Contains(body, "Deployment "+w.Apps+"/web: you ("),
		"a viewer sees what they may not get: %s", body)

	subject, scraper := w.token("scraper")
	w.Allow("", w.Operator+"-scraper", subject,
		rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
	status, body := w.get("metrics", "/metrics", scraper)
	check.That(t, status == http.StatusOK && strings.Contains(body, "helm_locker_"),
		"who may get /metrics is answered with %d %s", status, body)
	check.That(t, !strings.Contains(w.Running.Log(), guest) && !strings.Contains(w.page.Log(), guest),
		"a log has a token")
}
