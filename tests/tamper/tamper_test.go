package tamper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestTamper installs every chart, locks all releases at the same time and tampers with every object. The full form
// has a second pass, in which the charts of the corpus are installed by the other Helm. README.md describes
// it.
func TestTamper(t *testing.T) {
	passes(t, tamper)
}

// passes makes one pass, or two in the full form, and prints the report about them.
func passes(t *testing.T, run func(t *testing.T, pass int, r *report)) {
	t.Helper()
	t.Logf("seed %d, full %t", *seed, *full)
	r, n := &report{}, 1
	if *full {
		n = 2
	}
	for pass := range n {
		t.Run(fmt.Sprintf("Pass%d", pass+1), func(t *testing.T) { run(t, pass, r) })
	}
	r.print(t)
}

// tamper makes one pass. Its parts build on each other.
func tamper(t *testing.T, pass int, r *report) {
	c := cluster.ForTest(t, cluster.Options{ControllerManager: true})
	w := &fixture{env: kit.New(t, c), charts: charts(t, c, pass)}
	each, results := w.begin(t, r)
	bystanders := w.bystanders(t)
	w.restores(t, each)
	w.restoresRefused(t, each)
	t.Run("LeavesAdditions", func(t *testing.T) { w.leavesAdditions(t, results) })
	each("RestoresBesideAdditions", w.restoresBesideAdditions)
	each("RemovesAdditionsWhenStrict", w.removesAdditions)
	each("HelmUpgradesAfterwards", w.helmUpgradesAfterwards)
	each("HelmUpgradesAfterTakeover", w.helmUpgradesAfterTakeover)
	w.restoresInjected(t, each)
	each("NoticesFights", w.noticesFights)
	each("HelmChangesEveryLeaf", w.helmChangesEveryLeaf)
	w.wantBystanders(t, bystanders)
}

// fixture is shared by the parts of the test.
type fixture struct {
	env      *kit.Env
	proxy    *cluster.Proxy
	operator *kit.Operator
	charts   []*chart
}

// in returns the environment for a part of the test about one chart.
func (w *fixture) in(t *testing.T, ch *chart) *kit.Env {
	env := *w.env.For(t)
	env.Apps = ch.release
	return &env
}

func (w *fixture) installAll(t *testing.T) {
	t.Helper()
	var installing errgroup.Group
	installing.SetLimit(3)
	for _, ch := range w.charts {
		installing.Go(func() error { return ch.run(t.Context(), "install", ch.first, "--create-namespace") })
	}
	check.NoError(t, installing.Wait())
	client, err := discovery.NewDiscoveryClientForConfig(w.env.Cluster.RESTConfig())
	check.NoError(t, err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	for _, ch := range w.charts {
		if err := ch.resolve(t.Context(), w.env.Dynamic, mapper); err != nil {
			t.Fatalf("%s: %v", ch, err)
		}
		check.NoError(t, ch.recordOwners(t.Context()))
	}
}

func (w *fixture) locksWithoutWriting(t *testing.T, ch *chart, _ *result) {
	env := w.in(t, ch)
	before := snapshot(t, ch)
	env.CreateHelmRelease(ch.release)
	env.WaitReady(ch.release, 1)
	want := v1alpha1.ObjectCounts{Tracked: len(ch.objects)}
	if slices.ContainsFunc(ch.objects, func(o *object) bool {
		return o.declared.GetKind() == "ConfigMap" && o.declared.GetNamespace() == ch.release
	}) {
		want.Unmanaged = 1 // one of the bystanders
	}
	env.Until(fmt.Sprintf("counts of objects are %+v", want), func() (any, bool) {
		got := env.HelmRelease(ch.release).Status.Objects
		return got, got == want
	})
	w.wantNoWrites(t)
	wantUnchanged(t, ch, before, snapshot(t, ch))
	w.wantNoDiff(t, ch)
}

// wantNoDiff fails the test when `helm-locker diff` finds drift where the operator finds none.
func (w *fixture) wantNoDiff(t *testing.T, ch *chart) {
	t.Helper()
	if found := w.in(t, ch).Diff(ch.release); len(found) > 0 {
		t.Errorf("diff finds drift that the operator does not: %v", found)
	}
}

func (w *fixture) staysQuiet(t *testing.T) {
	before := map[*chart][]*unstructured.Unstructured{}
	for _, ch := range w.charts {
		before[ch] = snapshot(t, ch)
		w.in(t, ch).WaitEvent(ch.release, v1alpha1.EventReasonLocked)
	}
	w.in(t, w.charts[0]).Quiet(w.proxy, quiet())
	for _, ch := range w.charts {
		wantUnchanged(t, ch, before[ch], snapshot(t, ch))
	}
}

// restoresEverything makes all changes to all objects of a chart that have to be reverted in every scope.
func (w *fixture) restoresEverything(t *testing.T, ch *chart, r *result) {
	w.proxy.Reset()
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error { return x.all(ctx) })
	w.wantNoStrayWrites(t)
	r.writes = len(w.writes())
	hr := w.in(t, ch).WaitReady(ch.release, 0)
	// So many changes, each soon after the last revert, of the same paths are a fight.
	if counts := hr.Status.Objects; counts.Drifted+counts.Waiting > 0 || counts.Contended > 0 && !*full {
		t.Errorf("afterwards the counts of objects are %+v", hr.Status.Objects)
	}
	w.wantNoDiff(t, ch)
	w.helmOwnsAlone(t, ch)
}

// onEach processes all objects of a chart, several at a time, and reports errors.
func (w *fixture) onEach(t *testing.T, ch *chart, r *result, do func(context.Context, *tampering) error) {
	t.Helper()
	begin, known := time.Now(), len(r.failures)
	var work errgroup.Group
	work.SetLimit(hands)
	for _, o := range ch.objects {
		work.Go(func() error {
			x, err := ch.on(t.Context(), o, r)
			if err != nil {
				return err
			}
			defer x.watch.watch.Stop()
			if err := do(t.Context(), x); err != nil {
				t.Errorf("%s: %v", o, err)
			}
			if x.failed {
				if u, err := o.get(t.Context()); err == nil {
					t.Logf("managed fields of %s: %v", o, u.GetManagedFields())
				}
				t.Logf("the operator on %s:\n%s", o, linesWith(w.operator.Log(), o.name()))
			}
			return nil
		})
	}
	check.Report(t, work.Wait())
	r.took += time.Since(begin)
	w.calm(t)
	for _, f := range r.failures[known:] {
		t.Error(f)
	}
}

// helmUpgradesAfterwards shows that the reverts do not block Helm, and locks a new revision without a write.
func (w *fixture) helmUpgradesAfterwards(t *testing.T, ch *chart, _ *result) {
	w.upgrade(t, ch, 2, ch.second)
}

// helmUpgradesAfterTakeover applies every object under another manager just before an upgrade that changes every
// object.
func (w *fixture) helmUpgradesAfterTakeover(t *testing.T, ch *chart, r *result) {
	if ch.second == "" {
		t.Skip("the next revision of a chart of the corpus changes nothing")
	}
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error { return x.takeOver(ctx) })
	w.upgrade(t, ch, 3, ch.first)
}

func (w *fixture) upgrade(t *testing.T, ch *chart, revision int, set string) {
	t.Helper()
	w.helmOwnsAlone(t, ch)
	w.proxy.Reset()
	was := snapshot(t, ch)
	check.NoError(t, ch.run(t.Context(), "upgrade", set))
	check.NoError(t, ch.revise(t.Context()))
	before := snapshot(t, ch)
	w.in(t, ch).WaitReady(ch.release, revision)
	w.wantNoWrites(t)
	wantUnchanged(t, ch, before, snapshot(t, ch))
	for i, o := range ch.objects {
		if was[i].GetUID() != before[i].GetUID() {
			t.Errorf("%s is another object after the upgrade", o)
		}
		// In the chart of helm create only the Deployment has the tag of the image.
		changes := set != "" && (ch.name != "web" || o.declared.GetKind() == "Deployment")
		if changes && difference(o.content(was[i], same), o.content(before[i], same)) == "" {
			t.Errorf("%s is not changed by the upgrade", o)
		}
	}
}

// linesWith returns the last lines of a log with a name.
func linesWith(log, name string) string {
	var found []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, name) {
			found = append(found, line)
		}
	}
	return strings.Join(found[max(0, len(found)-20):], "")
}

func snapshot(t *testing.T, ch *chart) []*unstructured.Unstructured {
	t.Helper()
	var live []*unstructured.Unstructured
	for _, o := range ch.objects {
		u, err := o.get(t.Context())
		check.NoError(t, err)
		live = append(live, u)
	}
	return live
}

// wantUnchanged compares content and identity; controllers write to the status meanwhile, and so to the version.
func wantUnchanged(t *testing.T, ch *chart, before, after []*unstructured.Unstructured) {
	t.Helper()
	for i, o := range ch.objects {
		if d := difference(o.content(before[i], same), o.content(after[i], same)); d != "" {
			t.Errorf("%s changed: %s", o, d)
		}
	}
}
