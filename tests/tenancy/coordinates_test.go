package tenancy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// named is a tenant's claim about the release of an object.
type named struct{ namespace, name string }

// hostile are texts that would redirect a request, or make the API server refuse it.
var hostile = []named{
	{"../pods/http:mine:8080/proxy", "app"}, {"../../../../metrics", "app"}, {"..", "app"}, {".", "app"},
	{"APPS/pods/mine/log", "app"}, {"APPS/../kube-system", "app"}, {"%zz", "app"}, {"%2e%2e", "app"}, {"x y", "app"},
	{"APPS?limit=1", "app"}, {"APPS#", "app"}, {strings.Repeat("x", 64), "app"}, {"APPS\n", "app"},
	{"APPS", "x y"}, {"APPS", strings.Repeat("x", 64)}, {"APPS", strings.Repeat("x", 54)}, {"APPS", "a/b"},
	{"APPS", "%zz"}, {"APPS", "rival,status=deployed"}, {"APPS", "rival,name=rival"}, {"APPS", "x in (y)"},
	{"APPS", "X"}, {"APPS", ".."}, {"APPS", ""}, {"", "app"},
}

// patch returns the patch that writes this claim to an object in a namespace, and changes it.
func (n named) patch(t *testing.T, apps string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"data": map[string]any{"key": "tampered"},
		"metadata": map[string]any{"annotations": map[string]any{
			manifest.ReleaseNamespaceAnnotation: strings.ReplaceAll(n.namespace, "APPS", apps),
			manifest.ReleaseNameAnnotation:      n.name,
		}}})
	check.NoError(t, err)
	return string(text)
}

// plain are the paths of resources, of discovery and of health. Names are those of namespaces and of objects.
var plain = regexp.MustCompile(`^/(api|apis|version|readyz|livez|openapi/v[23].*)$` +
	`|^/(api/v1|apis/[a-z0-9.]+/v[a-z0-9]+)(/namespaces/[a-z0-9-]{1,63})?(/[a-z]+(/[a-z0-9.:-]+)?(/(status|scale))?)?$` +
	`|^/apis/[a-z0-9.]+$`)

// expectPlainRequests fails the test when a recorded path or selector contains a tenant's text.
func (w *fixture) expectPlainRequests() {
	w.Helper()
	for _, r := range w.Proxy.Requests() {
		if !plain.MatchString(r.Path) || r.Code == http.StatusBadRequest {
			w.Errorf("unexpected request: %s", r)
		}
		if selector := r.Query.Get("labelSelector"); strings.Contains(selector, "rival,") {
			w.Errorf("a selector made of an annotation: %s", r)
		}
	}
}

// An object's claim about its release is text that any writer of the object may have invented: it becomes no part of
// a request, and does not unlock the object.
func TestHostile_AnnotationsAreNoCoordinates(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	_, person := w.tenant(w.Apps)
	var objects strings.Builder
	for i := range hostile {
		objects.WriteString(kit.ConfigMap(fmt.Sprintf("settings-%d", i), "declared"))
	}
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: objects.String()})
	// A selector with more than a name in it would find this.
	person.Forge(kit.ForgedRecord{Name: "rival", Manifest: objects.String()})
	w.Lock("app")
	w.Proxy.Reset()
	for i, n := range hostile {
		w.Patch(kit.ConfigMaps, fmt.Sprintf("settings-%d", i), n.patch(t, w.Apps))
	}
	for i, n := range hostile {
		name := fmt.Sprintf("settings-%d", i)
		w.Eventually(fmt.Sprintf("%q is reverted", n), func() error {
			live := w.Get(kit.ConfigMaps, name)
			if key := kit.Field(live, "data.key"); key != "declared" ||
				live.GetAnnotations()[manifest.ReleaseNameAnnotation] != "app" ||
				live.GetAnnotations()[manifest.ReleaseNamespaceAnnotation] != w.Apps {
				return fmt.Errorf("key is %v, annotations are %q", key, live.GetAnnotations())
			}
			return nil
		})
	}
	w.expectPlainRequests()
}

// A release without a readable newest record owns nothing.
func TestHostile_AReleaseWithoutARecordOwnsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	_, person := w.tenant(w.Apps)
	rivals := map[string]*kit.ForgedRecord{
		"missing":    nil,
		"no-status":  {Labels: map[string]string{"status": ""}},
		"no-version": {Labels: map[string]string{"version": "x"}},
		"no-payload": {NoData: true},
		"no-gzip":    {Payload: []byte("H4sIAAAA")},
		"no-yaml":    {Manifest: "a: [}"},
		"other":      {Manifest: kit.ConfigMap("other", "x")},
	}
	var objects strings.Builder
	for name := range rivals {
		objects.WriteString(kit.ConfigMap("of-"+name, "declared"))
	}
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: objects.String()})
	for name, record := range rivals {
		if record != nil {
			record.Name = name
			person.Forge(*record)
		}
	}
	w.Lock("app")
	for name := range rivals {
		w.Patch(kit.ConfigMaps, "of-"+name, named{w.Apps, name}.patch(t, w.Apps))
	}
	for name := range rivals {
		w.WaitField(kit.ConfigMaps, "of-"+name, "data.key", "declared")
	}
}

// Objects may name as many releases as there are objects. The operator has one request at a time for one namespace.
func TestHostile_ManyClaimsAreOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	const many = 60
	w := newFixture(t, byDefault)
	_, person := w.tenant(w.Apps)
	var objects strings.Builder
	for i := range many {
		objects.WriteString(kit.ConfigMap(fmt.Sprintf("settings-%d", i), "declared"))
	}
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: objects.String()})
	person.Forge(kit.ForgedRecord{Name: "fence", Manifest: kit.FenceManifest()})
	w.Lock("app")
	w.lockIn(w.Apps, "fence", "fence")
	w.WaitReady("fence", 1)
	questions := w.Proxy.HoldRequests(cluster.ForResource("secrets", http.MethodGet).
		And(cluster.ForQuery("labelSelector", "name=claimed-")))
	for i := range many {
		w.Patch(kit.ConfigMaps, fmt.Sprintf("settings-%d", i), named{w.Apps, fmt.Sprintf("claimed-%d", i)}.patch(t, w.Apps))
	}
	w.WaitHeld(questions, 1)
	w.PassFence()
	n := questions.Arrived()
	check.That(t, n == 1, "%d questions at a time", n)
	questions.Release()
	for i := range many {
		w.WaitField(kit.ConfigMaps, fmt.Sprintf("settings-%d", i), "data.key", "declared")
	}
}
