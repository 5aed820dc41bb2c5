package guard

import (
	"flag"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var everyObject = flag.Bool("full", false, "try every object of the real charts, instead of one of each kind")

// Of real charts, an object of each kind is guarded, and with -full each object: a change of Helm's ownership, a change
// of a declared field and a deletion are refused, and nothing is written. With Warn they pass with a warning, and are
// reverted.
func TestI13_RealChartsAreGuarded(t *testing.T) {
	t.Parallel()
	files := kit.Corpus(t)
	if len(files) == 0 {
		t.Skip("there are no real charts")
	}
	// A control plane of its own: some of these charts have webhooks. Nothing but the requests of this test writes.
	f := newFixtureOn(t, cluster.ForTest(t, cluster.Options{}))
	charts := make([]*realChart, len(files))
	installing, ctx := errgroup.WithContext(f.Ctx)
	installing.SetLimit(3)
	for i, file := range files {
		name := filepath.Base(filepath.Dir(file))
		path, args := kit.ManifestChart(t, name, name, file)
		h := f.Cluster.Helm3()
		if i%2 == 1 {
			h = f.Cluster.Helm4()
		}
		charts[i] = &realChart{fixture: f, name: name}
		installing.Go(func() error {
			_, err := h.Run(ctx, append([]string{"install", name, path, "--namespace", name, "--create-namespace",
				"--no-hooks"}, args...)...)
			return err
		})
	}
	check.NoError(t, installing.Wait())
	kinds := sync.Map{}
	late := false
	for _, c := range charts {
		c.lock()
		c.each(func(o *realObject) error {
			if o.declared.GroupVersionKind().Group == "admissionregistration.k8s.io" {
				return nil // the API server asks no webhook about webhooks
			}
			if _, tried := kinds.LoadOrStore(o.declared.GetKind(), nil); tried && !*everyObject {
				return nil
			}
			return o.isRefused()
		})
		late = late || c.late.Load()
	}
	n := 0
	kinds.Range(func(any, any) bool { n++; return true })
	check.That(t, n >= 15, "only %d kinds were tried", n)
	if writes := kit.ObjectWrites(f.Proxy); len(writes) > 0 && !late {
		t.Errorf("the operator wrote although everything was refused: %v", writes)
	}
	for _, c := range charts {
		if c.name == "podinfo" {
			f.PatchHelmRelease(c.name, `{"spec":{"guard":"Warn"}}`)
			c.each((*realObject).isWarnedAbout)
		}
	}
}

// realChart is a chart installed as the release of its name, in the namespace of its name.
type realChart struct {
	*fixture
	name string
	// late is set when the guard had no time to decide on a request.
	late atomic.Bool
}

// lock locks the release with a guard that refuses, and waits until it is in force.
func (c *realChart) lock() {
	c.CreateHelmRelease(c.name, func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Release.Namespace, hr.Spec.Guard = c.name, v1alpha1.GuardDeny
	})
	c.WaitReady(c.name, 1)
	c.WaitReason(c.name, v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
}

// each tries something with every object of the chart, several at a time.
func (c *realChart) each(try func(*realObject) error) {
	objects, err := c.objects()
	if err != nil {
		c.Errorf("%s: %v", c.name, err)
		return
	}
	if got := c.HelmRelease(c.name).Status.Objects.Tracked; got != len(objects) {
		c.Errorf("%s: %d objects are tracked, want %d", c.name, got, len(objects))
	}
	group := errgroup.Group{}
	group.SetLimit(4)
	for _, o := range objects {
		group.Go(func() error {
			if err := try(o); err != nil {
				c.Errorf("%s, %s: %v", c.name, o, err)
			}
			return nil
		})
	}
	check.Report(c, group.Wait())
}

// objects returns the objects of the manifest in Helm's record.
func (c *realChart) objects() (all []*realObject, err error) {
	manifest, err := c.Cluster.Helm3().Run(c.Ctx, "get", "manifest", c.name, "--namespace", c.name)
	if err != nil {
		return nil, err
	}
	declared, err := kit.DecodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(c.Cluster.RESTConfig())
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	for _, u := range declared {
		mapping, err := mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
		if err != nil {
			return nil, err
		}
		o := &realObject{chart: c, declared: u, warnings: &warnings{}}
		config := c.Cluster.RESTConfig()
		config.WarningHandler = o.warnings
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		o.resource = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == "namespace" {
			if u.GetNamespace() == "" {
				u.SetNamespace(c.name)
			}
			o.resource = client.Resource(mapping.Resource).Namespace(u.GetNamespace())
		} else {
			u.SetNamespace("")
		}
		if o.live, err = o.resource.Get(c.Ctx, u.GetName(), metav1.GetOptions{}); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}
