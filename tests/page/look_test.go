package page

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const shop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-web, labels: {app: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: web
        image: registry.example/shop:1.0
        ports: [{name: http, containerPort: 8080}]
---
apiVersion: v1
kind: Service
metadata: {name: shop-web}
spec:
  selector: {app: shop}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-settings}
data: {currency: EUR, banner: "Fresh bread every morning"}
`

const bakery = `apiVersion: v1
kind: ConfigMap
metadata: {name: bakery-recipes}
data: {bread: "500 g flour, 325 g water", temperature: "240"}
---
apiVersion: v1
kind: Secret
metadata: {name: bakery-oven}
stringData: {username: baker, password: sourdough-starter}
`

// furnish creates a namespace with releases in every state.
func furnish(t *testing.T) *fixture {
	w := &fixture{Env: kit.New(t, kit.Shared)}
	w.Operator, w.Apps = w.Namespace("cattle-helm-system"), w.Namespace("apps")
	w.operator = w.start(func(o *operator.ControllerOptions) { o.ControllerName = operator.DefaultControllerName })
	w.page = w.serve(signed, func(o *page.RunOptions) { o.ControllerName = operator.DefaultControllerName })
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", shop))
	w.Helm(kit.Shared.Helm3(), "install", "bakery", w.Chart("bakery", bakery))
	w.Forge(kit.ForgedRecord{Name: "payments", Manifest: kit.Declared("payments")})
	w.Forge(kit.ForgedRecord{Name: "search", Revision: 4, Status: "pending-upgrade", Manifest: kit.Declared("search")})
	w.Lock("shop")
	w.CreateHelmRelease("search")
	w.CreateHelmRelease("bakery", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.CreateHelmRelease("payments", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.SuspendUntil = &metav1.Time{Time: time.Now().Add(30 * time.Minute)}
		hr.Annotations = map[string]string{v1alpha1.SuspendReasonAnnotation: "load test"}
	})
	w.WaitReason("bakery", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.WaitReason("payments", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	w.WaitReason("search", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)

	as := func(manager, name, patch string) {
		t.Helper()
		client := w.In(kit.ConfigMaps, w.Apps)
		switch {
		case strings.HasPrefix(name, "shop-web"):
			client = w.In(kit.Deployments, w.Apps)
		case name == "bakery-oven":
			client = w.In(kit.Secrets, w.Apps)
		}
		_, err := client.Patch(w.Ctx, name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{FieldManager: manager})
		check.NoError(t, err)
	}
	as("kubectl-edit", "shop-settings", `{"data":{"currency":"BTC"}}`)
	w.WaitField(kit.ConfigMaps, "shop-settings", "data.currency", "EUR")
	as("kubectl-scale", "shop-web", `{"spec":{"replicas":0}}`)
	w.WaitField(kit.Deployments, "shop-web", "spec.replicas", int64(2))
	w.Delete(kit.Services, "shop-web")
	w.Until("the Service is back", func() (any, bool) { return "it is gone", w.Get(kit.Services, "shop-web") != nil })
	as("kubectl-set", "shop-web", `{"metadata":{"labels":{"app":"other"}}}`)
	w.WaitField(kit.Deployments, "shop-web", "metadata.labels.app", "shop")
	as("kubectl-edit", "bakery-recipes", `{"data":{"temperature":"220"}}`)
	as("vault-sync", "bakery-oven", `{"stringData":{"password":"rolled-oats"}}`)
	return w
}

// The page fits on a phone and on a desktop, in the light and in the dark scheme; -screenshot writes pictures of
// that.
func TestPage_FitsScreensAndSchemes(t *testing.T) {
	w := furnish(t)
	tab := w.newTab()
	url := w.url(w.page)
	for _, look := range []view{{390, 844, true}, {1280, 720, false}} {
		tab.open("about:blank", look)
		tab.open(url, look)
		tab.says("#signin", "Sign in")
		tab.fits(look)
	}
	tab.signIn(w.Administrator())
	tab.says("#rows tr", "bakery")
	details := url + "#/" + w.Operator + "/bakery"
	for _, look := range []struct {
		picture string // what is added to the name of the file; none when it is "no"
		url     string
		view    view
	}{
		{"", url, view{1280, 720, false}},
		{"no", url, view{1280, 720, true}},
		{"-release", details, view{1280, 720, false}},
		{"-diff", details, view{1280, 720, true}},
		{"no", url, view{390, 844, false}},
		{"no", details, view{390, 844, true}},
	} {
		tab.open("about:blank", look.view)
		tab.open(look.url, look.view)
		if look.url == url {
			tab.until("all is shown",
				"document.querySelectorAll('#rows tr').length === 4 && document.querySelectorAll('#log li').length >= 6")
			tab.says("#rows tr", w.Apps+"/payments", "Suspended")
			tab.says("#rows tr", w.Apps+"/search", "Helm at work")
			tab.says("#rows tr", w.Apps+"/bakery", "Watched", "2/2")
			if look.view.width > 1000 {
				tab.says("#day-releases tr", w.Apps+"/shop", "kubectl-edit 1", "4")
				tab.says("#day-authors tr", "vault-sync", w.Apps+"/bakery 1")
				tab.until("no badge covers a name", apart)
			}
		} else {
			tab.says("#about", "2 drifted")
			tab.click("#compare")
			tab.says("#diff", "2 of 2 objects differ")
			tab.click("#objects summary")
			tab.says("#declared li", "ConfigMap "+w.Apps+"/bakery-recipes", "last drift: data[temperature] changed by kubectl-edit")
		}
		tab.fits(look.view)
		if look.picture != "no" {
			tab.picture(look.picture, false)
		}
	}
}

// fits checks the right edge, the legibility of texts, and the background colour of the scheme.
func (t *tab) fits(v view) {
	t.Helper()
	if over := eval[int](t, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("%dx%d: %d pixels are beyond the right edge", v.width, v.height, over)
	}
	t.until("text can be told from its ground", legible)
	if dark := eval[bool](t, "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((c) => c < 64)"); dark != v.dark {
		t.Errorf("asked for dark %v, and the ground is dark: %v", v.dark, dark)
	}
}

// picture writes a picture of the whole document, or of one screen of it, if -screenshot is set.
func (t *tab) picture(name string, screen bool) {
	t.Helper()
	if *screenshot == "" {
		return
	}
	file, err := filepath.Abs(filepath.Join("..", "..", strings.TrimSuffix(*screenshot, ".png")+name+".png"))
	check.NoError(t, err)
	t.must(map[string]any{"screenshot": file, "screen": screen})
}

// apart is true when no badge of the time line overlaps the name of a release or a text, whatever the badge's length.
const apart = `(() => {
	const pills = [...document.querySelectorAll('#log .pill')].map((pill) => [pill, pill.textContent]);
	for (const [pill] of pills) pill.textContent = 'reverted 3.372s after the lock began';
	const holds = [...document.querySelectorAll('#log li')].every((li) => {
		const p = li.querySelector('.pill').getBoundingClientRect();
		return [...li.querySelectorAll('.of, .what, time')].every((e) => [...e.getClientRects()].every((r) =>
			r.right <= p.left + 1 || r.left >= p.right - 1 || r.bottom <= p.top + 1 || r.top >= p.bottom - 1));
	});
	for (const [pill, text] of pills) pill.textContent = text;
	return holds;
})()`

// legible is true when every text has the contrast to its background required by WCAG 2.2 (AA: 4.5 to 1).
const legible = `(() => {
	const rgb = (color) => color.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => [r, g, b]
		.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (element) => {
		for (; element; element = element.parentElement) {
			const color = rgb(getComputedStyle(element).backgroundColor);
			if (color.length === 3 || color[3] === 1) return color;
		}
		return [255, 255, 255];
	};
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = texts.nextNode());) {
		const element = node.parentElement;
		if (!node.data.trim() || !element.checkVisibility() || element.closest('.fresh, :disabled, noscript')) continue;
		const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(ground(element))];
		if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) {
			document.title = node.data;
			return false;
		}
	}
	return true;
})()`
