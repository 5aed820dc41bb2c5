package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/cluster"
	"github.com/rancher/helm-locker/tests/kit"
)

// quiet is how long nothing may be written when nobody tampers.
const quiet = 20 * time.Second

// everything asks for all tamperings in place of a sample.
var everything = os.Getenv("HELM_LOCKER_CORPUS") == "full"

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{ControllerManager: true}, func(c *cluster.Cluster) { shared = c }))
}

// TestCorpus installs every chart of the corpus, locks all releases at the same time and tampers with every object. Its
// parts build on each other.
func TestCorpus(t *testing.T) {
	env := kit.New(t, shared)
	all := charts(t, shared)
	only := strings.FieldsFunc(os.Getenv("HELM_LOCKER_CHARTS"), func(r rune) bool { return r == ',' })
	all = slices.DeleteFunc(all, func(ch *chart) bool { return len(only) > 0 && !slices.Contains(only, ch.name) })
	w := &world{env: env, charts: all}
	w.installAll(t)

	w.proxy = env.Proxy()
	w.operator = kit.StartOperator(t, w.proxy.RESTConfig(), env.Operator)

	t.Run("LocksWithoutWriting", func(t *testing.T) {
		for _, ch := range all {
			t.Run(ch.name, func(t *testing.T) { w.locksWithoutWriting(t, ch) })
		}
	})
	t.Run("StaysQuiet", w.staysQuiet)
	t.Run("RestoresEverything", func(t *testing.T) {
		r := &report{}
		for _, ch := range all {
			t.Run(ch.name, func(t *testing.T) { r.add(w.restoresEverything(t, ch)) })
		}
		t.Logf("\n%s", r)
	})
	t.Run("HelmUpgradesAfterwards", func(t *testing.T) {
		for _, ch := range all {
			t.Run(ch.name, func(t *testing.T) { w.helmUpgradesAfterwards(t, ch) })
		}
	})
}

// world is what the parts of the test share.
type world struct {
	env      *kit.Env
	proxy    *cluster.Proxy
	operator *kit.Operator
	charts   []*chart
}

// in returns the environment for a part of the test that works on one chart.
func (w *world) in(t *testing.T, ch *chart) *kit.Env {
	env := *w.env
	env.TB, env.Ctx, env.Apps = t, t.Context(), ch.name
	return &env
}

func (w *world) installAll(t *testing.T) {
	t.Helper()
	dir, errs := t.TempDir(), make([]error, len(w.charts))
	var wait sync.WaitGroup
	turns := make(chan struct{}, 3)
	for i, ch := range w.charts {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			errs[i] = ch.install(t.Context(), dir, "install")
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(shared.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	for _, ch := range w.charts {
		if err := ch.resolve(w.env.Dynamic, mapper); err != nil {
			t.Fatalf("%s: %v", ch.name, err)
		}
	}
}

func (w *world) locksWithoutWriting(t *testing.T, ch *chart) {
	env := w.in(t, ch)
	before := w.snapshot(t, ch)
	env.CreateHelmRelease(ch.name, func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Namespace = ch.name })
	hr := env.WaitReady(ch.name, 1)
	if hr.Status.Objects != (v1alpha1.ObjectCounts{Tracked: len(ch.objects)}) {
		t.Errorf("counts of objects are %+v, wanted %d tracked and nothing else", hr.Status.Objects, len(ch.objects))
	}
	w.wantNoWrites(t, ch)
	wantUnchanged(t, ch, before, w.snapshot(t, ch))
}

func (w *world) staysQuiet(t *testing.T) {
	before := map[*chart][]*unstructured.Unstructured{}
	for _, ch := range w.charts {
		before[ch] = w.snapshot(t, ch)
	}
	w.in(t, w.charts[0]).Quiet(w.proxy, quiet)
	for _, ch := range w.charts {
		wantUnchanged(t, ch, before[ch], w.snapshot(t, ch))
	}
}

// helmUpgradesAfterwards shows that restoring left nothing in Helm's way, and that a new revision is locked in silence.
func (w *world) helmUpgradesAfterwards(t *testing.T, ch *chart) {
	w.proxy.Reset()
	if err := ch.install(t.Context(), t.TempDir(), "upgrade"); err != nil {
		t.Fatal(err)
	}
	before := w.snapshot(t, ch)
	w.in(t, ch).WaitReady(ch.name, 2)
	w.wantNoWrites(t, ch)
	wantUnchanged(t, ch, before, w.snapshot(t, ch))
}

// wantNoWrites fails the test when the operator has written to an object of the chart since the last reset.
func (w *world) wantNoWrites(t *testing.T, ch *chart) {
	t.Helper()
	for _, r := range w.writes(ch) {
		t.Errorf("wrote to an object that nobody tampered with: %s %s", r, r.Body)
	}
}

// writes returns the operator's writes to objects of the chart since the last reset of the proxy, without dry runs.
func (w *world) writes(ch *chart) []cluster.Request {
	var found []cluster.Request
	for _, r := range w.proxy.Writes() {
		if r.Query.Get("dryRun") == "" && slices.ContainsFunc(ch.objects, func(o *object) bool {
			return strings.HasPrefix(r.Path, o.path) || r.Path == o.path[:strings.LastIndex(o.path, "/")]
		}) {
			found = append(found, r)
		}
	}
	return found
}

func (w *world) snapshot(t *testing.T, ch *chart) []*unstructured.Unstructured {
	t.Helper()
	var live []*unstructured.Unstructured
	for _, o := range ch.objects {
		u, err := o.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, u)
	}
	return live
}

func (o *object) get(ctx context.Context) (*unstructured.Unstructured, error) {
	u, err := o.resource.Get(ctx, o.name(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", o, err)
	}
	return u, nil
}

// wantUnchanged compares content and identity; controllers write to the status meanwhile, and so to the version.
func wantUnchanged(t *testing.T, ch *chart, before, after []*unstructured.Unstructured) {
	t.Helper()
	for i, o := range ch.objects {
		if d := difference(content(before[i], same), content(after[i], same)); d != "" {
			t.Errorf("%s changed: %s", o, d)
		}
	}
}
