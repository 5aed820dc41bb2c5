package page

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestPage_ShowsALockedReleaseAndItsDriftLive(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tab := w.newTab()
	tab.open(w.url(w.operator), desktop())
	tab.says("#link", "Live")
	tab.says("#none", "Nothing is locked", w.Operator)
	eval[bool](tab, "window.stayed = true")

	w.Installed(kit.Shared.Helm4(), "shop", configMaps("settings", "menu"))
	tab.says("#rows tr", w.Apps+"/shop", "Locked", "0/2", "revision 1", "none")
	tab.says("#tiles .tile.good", "1 of 1", "Locked")

	w.edit("settings", "tampered")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	tab.says("#log li", "ConfigMap "+w.Apps+"/settings", "data[key] changed by", "reverted after", w.Apps+"/shop")
	tab.says("#rows tr", "s ago")
	w.Delete(kit.ConfigMaps, "menu")
	tab.says("#log li:first-child", "ConfigMap "+w.Apps+"/menu", "deleted", "recreated")
	tab.until("the newest drift is marked", "document.querySelector('#log li:first-child').classList.contains('fresh')")

	w.Helm(kit.Shared.Helm4(), "upgrade", "shop", w.Chart("shop", configMaps("settings")))
	tab.says("#rows tr", "revision 2", "0/1")
	check.NoError(t, w.In(kit.HelmReleases, w.Operator).Delete(w.Ctx, "shop", metav1.DeleteOptions{}))
	tab.says("#none", "Nothing is locked")
	if !eval[bool](tab, "window.stayed === true") {
		t.Error("the page was loaded again")
	}
}

func TestPage_TheKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	for _, name := range []string{"shop", "bakery"} {
		w.Helm(kit.Shared.Helm3(), "install", name, w.Chart(name, configMaps(name+"-settings")))
		w.Lock(name)
	}
	tab := w.newTab()
	tab.open(w.url(w.operator), desktop())
	tab.signIn(w.administrator())
	tab.says("#rows tr", "bakery")
	tab.press("/")
	for _, key := range "shop" {
		tab.press(string(key))
	}
	tab.until("the search leaves one release", "document.querySelectorAll('#rows tr').length === 1")
	tab.press("ArrowDown")
	tab.until("the release has the focus", "document.activeElement.matches('#rows th a')")
	// What is drawn anew keeps the focus.
	w.edit("shop-settings", "tampered")
	tab.says("#log li", "shop-settings")
	tab.until("the release still has the focus", "document.activeElement.matches('#rows th a')")
	tab.press("Enter")
	tab.says("#detail h1", w.Apps+"/shop", "Locked")
	tab.says("#own li", "shop-settings", "reverted")
	tab.says("#conditions tr", "Locked", "True")
	tab.until("the title has the focus", "document.activeElement.matches('#detail h1')")
	tab.press("Tab")
	tab.until("its reason is next", "document.activeElement.matches('#about a.reason')")
	tab.press("Tab")
	tab.until("a button is next", "document.activeElement.id === 'compare'")
	tab.press("Enter")
	tab.says("#diff", "No drift: 1 object compared with revision 1.")
	tab.press("Escape")
	tab.until("the release has the focus again",
		"document.activeElement.matches('#rows th a') && document.activeElement.innerText.includes('shop')")
}

// The values of Secrets that the tests of this file know; none may be anywhere in what a page gets.
const declaredValue, tamperedValue = "hunter2-declared", "hunter2-tampered"

// watchShop has a release watched in which a Secret, and a ConfigMap that repeats its value, were tampered with.
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
	url, token := w.url(w.operator), w.administrator()
	diff := get(t, url+"diff?namespace="+w.Operator+"&name=shop", as(token))
	for _, part := range []string{"Secret " + w.Apps + "/login", "-  password: ", "+  password: ", "ConfigMap " +
		w.Apps + "/settings", "-  key: declared"} {
		if diff.status != http.StatusOK || !strings.Contains(diff.body, part) {
			t.Errorf("the comparison does not have %q: %d %s", part, diff.status, diff.body)
		}
	}
	events := firstEvents(t, url, token)
	if !strings.Contains(events, "data[password] changed") {
		t.Errorf("the events do not tell what drifted: %s", events)
	}
	givesAway(t, diff.body+events+w.operator.Log())
	if got := get(t, url+"diff?namespace="+w.Apps+"&name=shop", as(token)); got.status != http.StatusNotFound {
		t.Errorf("what is not on the page can be compared: %d %s", got.status, got.body)
	}
}

func TestPage_TheDiffMasksSecrets(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	w.watchShop()
	tab := w.newTab()
	tab.open(w.url(w.operator)+"#/"+w.Operator+"/shop", desktop())
	tab.signIn(w.administrator())
	tab.says("#detail h1", "Watched")
	tab.says("#own li", "Secret "+w.Apps+"/login", "data[password] changed", "reported")
	eval[bool](tab, "document.getElementById('compare').click() ?? true")
	tab.says("#diff", "2 of 2 objects differ from revision 1.")
	tab.says("#diff details", "Secret "+w.Apps+"/login", "data[password]", "-  password: <secret",
		"+  password: <secret")
	tab.says("#diff details", "ConfigMap "+w.Apps+"/settings", "-  key: declared", "+  key: tampered",
		"url: https://user:<secret")
	if eval[bool](tab, "new Set([...document.querySelectorAll('.del .mask, .ins .mask')].map((e) => e.innerText)).size !== 2") {
		t.Error("the markers do not tell the two values apart")
	}
	givesAway(t, eval[string](tab, "document.documentElement.outerHTML"))
}

// Who signs in sees what they may, and whoever comes to the browser after them does not.
func TestPage_SigningInAndOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	w.watchShop()
	tab := w.newTab()
	tab.open(w.url(w.operator), desktop())
	tab.says("#link", "Not signed in")
	tab.signIn("not-a-token")
	tab.says("#refusal", "the API server does not know this token")
	token := w.administrator()
	tab.signIn(token)
	tab.says("#rows tr", w.Apps+"/shop", "Watched")
	w.edit("settings", "tampered again")
	tab.says("#log li", "ConfigMap "+w.Apps+"/settings")
	if eval[bool](tab, fmt.Sprintf("document.cookie !== '' || document.documentElement.outerHTML.includes(%q)",
		token)) {
		t.Error("the token is in a cookie or in the document")
	}
	tab.open(w.url(w.operator)+"#/"+w.Operator+"/shop", desktop())
	eval[bool](tab, "location.reload() ?? true")
	tab.says("#detail h1", w.Apps+"/shop")
	eval[bool](tab, "document.getElementById('compare').click() ?? true")
	tab.says("#diff", "2 of 2 objects differ from revision 1.")
	eval[bool](tab, "document.getElementById('signout').click() ?? true")
	tab.says("#signin", "Sign in")
	if text := eval[string](tab, "document.body.innerText + JSON.stringify({...sessionStorage})"); strings.Contains(
		text, w.Apps,
	) || strings.Contains(text, token) {
		t.Errorf("something stays after signing out: %s", text)
	}
}

// Without --page-auth there are states and no content.
func TestPage_WithoutASignInNothingIsCompared(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watchShop()
	tab := w.newTab()
	tab.open(w.url(w.operator)+"#/"+w.Operator+"/shop", desktop())
	tab.says("#detail h1", "Watched")
	tab.says("#compares-not", "--page-auth")
	tab.until("no comparison is offered", "document.getElementById('compare').hidden")
	if got := get(t, w.url(w.operator)+"diff?namespace="+w.Operator+"&name=shop",
		nil); got.status != http.StatusForbidden {
		t.Errorf("a comparison is answered with %d %s", got.status, got.body)
	}
}

// A HelmRelease that another operator has claimed keeps the status that the test gives it.
func TestPage_HostileTextsAreText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const html = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
	hostile := html + "\x1b]0;title\a\u202e\u200b'\"&amp;"
	shown := html + `\x1b]0;title\a\u202e\u200b'"&amp;`
	w.CreateHelmRelease("victim", func(hr *v1alpha1.HelmRelease) {
		hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: hostile,
			v1alpha1.SuspendReasonAnnotation: hostile}
		hr.Spec.Suspend = true
	})
	now := metav1.Now()
	w.setStatus("victim", v1alpha1.HelmReleaseStatus{
		State: v1alpha1.StateDeployed, Version: 1,
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Hostile", Message: hostile,
				LastTransitionTime: now},
			{Type: v1alpha1.ConditionLocked, Status: metav1.ConditionFalse, Reason: "Hostile", Message: hostile,
				LastTransitionTime: now},
		},
		RecentDrift: []v1alpha1.DriftRecord{{
			Time: metav1.NowMicro(), Object: v1alpha1.DriftedObject{Kind: hostile, Name: hostile},
			Operation: v1alpha1.DriftModified,
			Paths:     []string{"/data/" + strings.ReplaceAll(hostile, "/", "~1")}, FieldManager: hostile,
			Action: v1alpha1.DriftActionReported,
		}},
		Exceptions: []v1alpha1.Exception{{Object: v1alpha1.DriftedObject{Kind: hostile, Name: hostile},
			Reason: "Ignored", Message: hostile}},
	})
	tab := w.newTab()
	tab.open(w.url(w.operator), desktop())
	tab.says("#rows tr .message", shown)
	tab.says("#log li b", shown+" "+shown)
	tab.says("#log li", "changed by "+shown)
	tab.open(w.url(w.operator)+"#/"+w.Operator+"/victim", desktop())
	tab.says("#about .lead", shown)
	tab.says("#about dd", shown)
	tab.says("#conditions td", shown)
	tab.says("#exceptions li", shown)
	if eval[bool](tab, "window.hacked !== undefined || document.querySelectorAll('main img, main script').length > 0") {
		t.Error("a text became HTML")
	}
}

func (w *fixture) setStatus(name string, status v1alpha1.HelmReleaseStatus) {
	w.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	check.NoError(w, err)
	patch := fmt.Appendf(nil, `{"status":%s}`, encode(w.TB, content))
	_, err = w.In(kit.HelmReleases, w.Operator).Patch(w.Ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	check.NoError(w, err)
}

// The console is quiet in all other tests; this one shows that it would not be.
func TestPage_ThePolicyForbidsWhatIsNotThePage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tab := w.newTab()
	tab.open(w.url(w.operator), desktop())
	tab.says("#link", "Live")
	violations := eval[[]string](tab, `(async () => {
		const seen = [];
		addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
		const script = document.createElement('script');
		try { script.text = 'window.hacked = 1'; } catch (error) { seen.push(error.name); }
		try { document.body.innerHTML = '<b>x</b>'; } catch (error) { seen.push(error.name); }
		document.body.style.cssText = 'color: red';
		const image = document.createElement('img');
		image.src = 'http://192.0.2.1/x.png';
		document.body.append(image);
		await fetch('http://192.0.2.1/').catch(() => {});
		await new Promise((resolve) => setTimeout(resolve, 100));
		return [...new Set(seen)].sort();
	})()`)
	for _, want := range []string{"TypeError", "connect-src", "img-src", "require-trusted-types-for"} {
		if !strings.Contains(strings.Join(violations, " "), want) {
			t.Errorf("no violation of %s: %v", want, violations)
		}
	}
	if len(tab.problems()) == 0 {
		t.Error("the console was not listened to")
	}
	eval[bool](tab, "window.hacked === undefined")
	tab.forgive()
}

// elected lasts long, so that a busy machine is not too slow to renew its lease; one that stops gives it up at once.
func elected(o *operator.ControllerOptions) { o.LeaderElection, o.LeaseDuration = true, time.Minute }

func TestPage_AStandbySaysSoAndShowsTheSame(t *testing.T) {
	t.Parallel()
	w := newFixture(t, elected)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: configMaps("settings")})
	w.Lock("app")
	standby := w.start(elected)
	tab := w.newTab()
	tab.open(w.url(standby), desktop())
	tab.says("#banners", "This replica is not the leader. It stands by")
	tab.says("#rows tr", w.Apps+"/app", "Locked")
	w.edit("settings", "tampered")
	tab.says("#log li", "settings", "reverted")
	w.operator.Stop()
	tab.until("the standby leads and says no more of it", "document.getElementById('banners').innerText === ''")
	w.edit("settings", "tampered again")
	tab.until("the new leader's reverts are shown", "document.querySelectorAll('#log li').length === 2")
}

func TestPage_SaysWhenTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: configMaps("settings")})
	w.Lock("app")
	tab := w.newTab()
	url := w.url(w.operator)
	tab.open(url, desktop())
	tab.says("#rows tr", "Locked")
	w.operator.Stop()
	tab.says("#link", "Connection lost")
	tab.says("#banners", "may be out of date")
	tab.says("#rows tr", w.Apps+"/app")

	second := w.start(func(o *operator.ControllerOptions) {
		o.PageAddress = strings.Trim(strings.TrimPrefix(url, "http:"), "/")
	})
	tab.says("#link", "Live")
	tab.until("nothing is said to be lost", "document.getElementById('banners').innerText === ''")
	w.edit("settings", "tampered")
	tab.says("#log li", "settings", "reverted")
	second.Stop()
}

type response struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, url string, change func(*http.Request)) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check.NoError(t, err)
	if change != nil {
		change(request)
	}
	answer, err := http.DefaultClient.Do(request)
	check.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	check.NoError(t, err)
	return response{answer.StatusCode, answer.Header, string(body)}
}
