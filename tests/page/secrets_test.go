package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The values of Secrets in this file; no page may contain any of them.
const declaredValue, tamperedValue = "hunter2-declared", "hunter2-tampered"

// watchShop watches a release in mode Detect, and tampers with its Secret, and with a ConfigMap that repeats the
// Secret's value.
func (w *fixture) watchShop() {
	w.Helper()
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: %s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: declared, url: "https://user:%s@db.example"}
`, declaredValue, declaredValue)))
	w.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.Patch(kit.Secrets, "login", fmt.Sprintf(`{"metadata":{"annotations":{"note":"was %s, now %s"}},"stringData":{"password":%q}}`,
		declaredValue, tamperedValue, tamperedValue))
	w.edit("settings", "tampered, and connects with "+tamperedValue)
	w.Until("both are reported", func() (any, bool) {
		n := w.HelmRelease("shop").Status.Objects.Drifted
		return n, n == 2
	})
}

func givesAway(t *testing.T, text string) {
	t.Helper()
	// Plain, and in base64 at any offset.
	for _, value := range []string{declaredValue, tamperedValue, "aHVudGVyMi", "h1bnRlcjIt", "odW50ZXIyL"} {
		if i := strings.Index(text, value); i >= 0 {
			t.Errorf("%s gets out: ...%s...", value, text[max(0, i-100):min(len(text), i+100)])
		}
	}
}

func TestI7_ThePageGetsNoValueOfASecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	w.watchShop()
	url, token := w.url(w.page), w.Administrator()
	status, diff := kit.HTTPGet(t, url+"diff?namespace="+w.Operator+"&name=shop", token)
	for _, part := range []string{"Secret " + w.Apps + "/login", "-  password: ", "+  password: ", "ConfigMap " +
		w.Apps + "/settings", "-  key: declared"} {
		check.That(t, status == http.StatusOK && strings.Contains(diff, part), "the comparison does not have %q: %d %s",
			part, status, diff)
	}
	events := firstEvents(t, url, token)
	check.That(t, strings.Contains(events, "data[password] changed"), "the events do not tell what drifted: %s", events)
	givesAway(t, diff+events+w.page.Log())
	status, body := kit.HTTPGet(t, url+"diff?namespace="+w.Apps+"&name=shop", token)
	check.That(t, status == http.StatusNotFound, "what is not on the page can be compared: %d %s", status, body)
}

func TestPage_TheDiffMasksSecrets(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	w.watchShop()
	tab := w.newTab()
	tab.open(w.url(w.page)+"#/"+w.Operator+"/shop", desktop())
	tab.signIn(w.Administrator())
	tab.says("#detail h1", "Watched")
	tab.says("#own li", "Secret "+w.Apps+"/login", "data[password] changed", "reported")
	tab.click("#compare")
	tab.says("#diff", "2 of 2 objects differ from revision 1.")
	tab.says("#diff details", "Secret "+w.Apps+"/login", "data[password]", "-  password: <secret",
		"+  password: <secret")
	tab.says("#diff details", "ConfigMap "+w.Apps+"/settings", "-  key: declared", "+  key: tampered",
		"url: https://user:<secret")
	check.That(t,
		!eval[bool](tab, "new Set([...document.querySelectorAll('.del .mask, .ins .mask')]."+
			"map((e) => e.innerText)).size !== 2"),
		"the markers do not tell the two values apart")
	givesAway(t, eval[string](tab, "document.documentElement.outerHTML"))
}

// A signed-in user sees the permitted releases, and the next user of the browser does not.
func TestPage_SigningInAndOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	w.watchShop()
	tab := w.newTab()
	tab.open(w.url(w.page), desktop())
	tab.says("#link", "Not signed in")
	tab.signIn("not-a-token")
	tab.says("#refusal", "the API server does not know this token")
	token := w.Administrator()
	tab.signIn(token)
	tab.says("#rows tr", w.Apps+"/shop", "Watched")
	w.edit("settings", "tampered again")
	tab.says("#log li", "ConfigMap "+w.Apps+"/settings")
	check.That(t,
		!eval[bool](tab, fmt.Sprintf("document.cookie !== '' || document.documentElement.outerHTML.includes(%q)", token)),
		"the token is in a cookie or in the document")
	tab.open(w.url(w.page)+"#/"+w.Operator+"/shop", desktop())
	tab.reload()
	tab.says("#detail h1", w.Apps+"/shop")
	tab.click("#compare")
	tab.says("#diff", "2 of 2 objects differ from revision 1.")
	tab.click("#signout")
	tab.says("#signin", "Sign in")
	text := eval[string](tab, "document.body.innerText + JSON.stringify({...sessionStorage})")
	check.That(t, !strings.Contains(text, w.Apps) && !strings.Contains(text, token),
		"something stays after signing out: %s", text)
}

// Without --page-auth there are states and no content.
func TestPage_WithoutASignInNothingIsCompared(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watchShop()
	tab := w.newTab()
	tab.open(w.url(w.page)+"#/"+w.Operator+"/shop", desktop())
	tab.says("#detail h1", "Watched")
	tab.says("#compares-not", "--page-auth")
	tab.until("no comparison is offered", "document.getElementById('compare').hidden")
	status, body := kit.HTTPGet(t, w.url(w.page)+"diff?namespace="+w.Operator+"&name=shop", "")
	check.That(t, status == http.StatusForbidden, "a comparison is answered with %d %s", status, body)
}
