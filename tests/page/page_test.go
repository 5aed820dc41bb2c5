package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestPage_ShowsALockedReleaseAndItsDriftLive(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tab := w.newTab()
	tab.open(w.url(w.page), desktop())
	tab.says("#link", "Live")
	tab.says("#none", "Nothing is locked", w.Operator)
	eval[bool](tab, "window.stayed = true")

	w.Installed(kit.Shared.Helm4(), "shop", kit.Declared("settings", "menu"))
	tab.says("#rows tr", w.Apps+"/shop", "Locked", "0/2", "revision 1", "none")
	tab.says("#tiles .tile.good", "1 of 1", "Locked")

	w.edit("settings", "tampered")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	tab.says("#log li", "ConfigMap "+w.Apps+"/settings", "data[key] changed by", "reverted after", w.Apps+"/shop")
	tab.says("#rows tr", "s ago")
	w.Delete(kit.ConfigMaps, "menu")
	tab.says("#log li:first-child", "ConfigMap "+w.Apps+"/menu", "deleted", "recreated")
	tab.until("the newest drift is marked", "document.querySelector('#log li:first-child').classList.contains('fresh')")

	w.Helm(kit.Shared.Helm4(), "upgrade", "shop", w.Chart("shop", kit.Declared("settings")))
	tab.says("#rows tr", "revision 2", "0/1")
	check.NoError(t, w.In(kit.HelmReleases, w.Operator).Delete(w.Ctx, "shop", metav1.DeleteOptions{}))
	tab.says("#none", "Nothing is locked")
	check.That(t, eval[bool](tab, "window.stayed === true"), "the page was loaded again")
}

func TestPage_TheKeyboardIsEnough(t *testing.T) {
	t.Parallel()
	w := newFixture(t, signed)
	for _, name := range []string{"shop", "bakery"} {
		w.Installed(kit.Shared.Helm3(), name, kit.Declared(name+"-settings"))
	}
	tab := w.newTab()
	tab.open(w.url(w.page), desktop())
	tab.signIn(w.Administrator())
	tab.says("#rows tr", "bakery")
	tab.press("/")
	for _, key := range "shop" {
		tab.press(string(key))
	}
	tab.until("the search leaves one release", "document.querySelectorAll('#rows tr').length === 1")
	tab.press("ArrowDown")
	tab.until("the release has the focus", "document.activeElement.matches('#rows th a')")
	// A redrawn element keeps the focus.
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

// A HelmRelease claimed by another operator keeps the status set by the test.
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
	tab.open(w.url(w.page), desktop())
	tab.says("#rows tr .message", shown)
	tab.says("#log li b", shown+" "+shown)
	tab.says("#log li", "changed by "+shown)
	tab.open(w.url(w.page)+"#/"+w.Operator+"/victim", desktop())
	tab.says("#about .lead", shown)
	tab.says("#about dd", shown)
	tab.says("#conditions td", shown)
	tab.says("#exceptions li", shown)
	check.That(t,
		!eval[bool](tab, "window.hacked !== undefined || document.querySelectorAll('main img, main script').length > 0"),
		"a text became HTML")
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

// The console is quiet in all other tests; this one shows that it would report violations.
func TestPage_ThePolicyForbidsWhatIsNotThePage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tab := w.newTab()
	tab.open(w.url(w.page), desktop())
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
		check.That(t, strings.Contains(strings.Join(violations, " "), want), "no violation of %s: %v", want, violations)
	}
	check.That(t, len(tab.problems()) > 0, "the console was not listened to")
	check.That(t, eval[bool](tab, "window.hacked === undefined"), "a script of a text has run")
	tab.forgive()
}

// elected uses a long lease, so that a busy machine renews it in time; a stopping operator releases it at once.
func elected(o *operator.ControllerOptions) { o.LeaderElection, o.LeaseDuration = true, time.Minute }

// The page outlives the operator: it shows the releases, names the operator that is gone, and shows the next one's
// reverts as they come.
func TestPage_WorksWithoutAnOperatorAndNamesIt(t *testing.T) {
	t.Parallel()
	w := &fixture{Env: kit.New(t, kit.Shared)}
	w.operator, w.page = w.start(elected), w.serve()
	w.Forged("app", kit.Declared("settings"))
	tab := w.newTab()
	tab.open(w.url(w.page), desktop())
	tab.says("#rows tr", w.Apps+"/app", "Locked")
	w.edit("settings", "tampered")
	tab.says("#log li", "settings", "reverted")
	w.operator.Stop()
	tab.says("#banners", "No operator "+w.Operator+" is running in namespace "+w.Operator, "Its release is not protected now")
	tab.says("#rows tr", w.Apps+"/app", "No operator")
	tab.says("#link", "Live")

	w.start(elected)
	tab.until("nothing is said to be gone", "document.getElementById('banners').innerText === ''")
	w.edit("settings", "tampered again")
	tab.until("the new operator's reverts are shown", "document.querySelectorAll('#log li').length === 2")
}

// An event is on the page before it is in the status: the operator's events are its source.
func TestPage_ShowsDriftFromTheStream(t *testing.T) {
	t.Parallel()
	w := &fixture{Env: kit.New(t, kit.Shared)}
	proxy := w.NewProxy()
	w.operator = kit.StartOperator(t, proxy.RESTConfig(), w.Operator, kit.Events)
	w.page = w.serve()
	w.Forged("app", kit.Declared("settings"))
	tab := w.newTab()
	tab.open(w.url(w.page), desktop())
	tab.says("#rows tr", w.Apps+"/app", "Locked")
	proxy.On(cluster.ForPath("/helmreleases/app/status").And(cluster.IsWrite),
		cluster.Fail(http.StatusServiceUnavailable, "not now"))
	w.edit("settings", "tampered")
	tab.says("#log li", "settings", "reverted")
	for _, r := range w.HelmRelease("app").Status.RecentDrift {
		check.That(t, r.Action != v1alpha1.DriftActionReverted, "the status has it, too: %v", r)
	}
}

func TestPage_SaysWhenTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.Declared("settings"))
	tab := w.newTab()
	url, account := w.url(w.page), w.PageAccount("another-page")
	tab.open(url, desktop())
	tab.says("#rows tr", "Locked")
	w.page.Stop()
	tab.says("#link", "Connection lost")
	tab.says("#banners", "may be out of date")
	tab.says("#rows tr", w.Apps+"/app")

	kit.StartPage(t, account, w.Operator, func(o *page.RunOptions) {
		o.Address = strings.Trim(strings.TrimPrefix(url, "http:"), "/")
	})
	tab.says("#link", "Live")
	tab.until("nothing is said to be lost", "document.getElementById('banners').innerText === ''")
	w.edit("settings", "tampered")
	tab.says("#log li", "settings", "reverted")
}
