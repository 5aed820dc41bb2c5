package tamper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestEveryKind locks an object of every kind served by the API server, half of them installed by Helm 3 and half by
// Helm 4 (the full form has a second pass with these exchanged). It makes every change allowed by the schema to each
// declared value and, in scope Strict, to each possible value. It contains no list of known kinds: the objects are
// Kubernetes' own stubs, with those of testdata/kinds for gaps in the stubs, and the changes are derived from the
// schemas.
func TestEveryKind(t *testing.T) {
	passes(t, everyKind)
}

func everyKind(t *testing.T, pass int, r *report) {
	c := cluster.ForTest(t, cluster.Options{ControllerManager: true, ExtraAPIServerArgs: []string{
		"--runtime-config=api/all=true", "--feature-gates=" + kit.FeaturesOfStubs,
	}})
	check.NoError(t, c.Except("I5", "leasev1", "the control plane collects an expired Lease"))
	w := &fixture{env: kit.New(t, c)}
	w.charts = w.kinds(t, c, pass)
	if len(w.charts) == 0 {
		t.Skip("-charts names none of these")
	}
	each, _ := w.begin(t, r)
	bystanders := w.bystanders(t)
	w.restores(t, each)
	each("RestoresBlanks", w.restoresBlanks)
	each("IsStrict", w.isStrict)
	each("HelmUpgradesAfterwards", w.helmUpgradesAfterwards)
	w.wantBystanders(t, bystanders)
}

// kinds returns the charts of one pass.
func (w *fixture) kinds(t *testing.T, c *cluster.Cluster, pass int) []*chart {
	t.Helper()
	all, err := kit.Stubs(t.Context())
	check.NoError(t, err)
	client, err := discovery.NewDiscoveryClientForConfig(c.RESTConfig())
	check.NoError(t, err)
	resources, err := kindsOf(client)
	check.NoError(t, err)
	manifests, unserved := served(all, resources)
	t.Logf("%d stubs, %d of them of resources that are not served or do not stay", len(all), unserved)
	check.Must(t, len(manifests) >= 60, "only %d kinds are served", len(manifests))
	known := newShapes(client)
	for _, m := range manifests {
		s, err := known.of(schema.FromAPIVersionAndKind(m["apiVersion"].(string), m["kind"].(string)))
		check.NoError(t, err)
		s.prune(m)
	}
	own, err := filepath.Glob(filepath.Join("testdata", "kinds", "*", "manifest.yaml"))
	check.NoError(t, err)
	parts := make([][]map[string]any, 2)
	for i, m := range manifests {
		if *full || i%shortOf == 0 {
			parts[(i/shortOf+i+pass)%2] = append(parts[(i/shortOf+i+pass)%2], m)
		}
	}
	var charts []*chart
	for i, version := range []int{3, 4} {
		ch := &chart{name: "kinds", release: fmt.Sprintf("kinds-%d", version)}
		ch.by(c, version)
		text, err := document(parts[i])
		check.NoError(t, err)
		ch.path, ch.args = kit.ManifestChart(t, ch.name, ch.release, writeTo(t, text))
		charts = append(charts, ch)
		for _, file := range own {
			name := filepath.Base(filepath.Dir(file))
			ch := &chart{name: name, release: fmt.Sprintf("%s-%d", name, version)}
			ch.by(c, version)
			ch.path, ch.args = kit.ManifestChart(t, ch.name, ch.release, file)
			charts = append(charts, ch)
		}
	}
	return slices.DeleteFunc(charts, func(ch *chart) bool { return !ch.isWanted() })
}

// shortOf is of how many kinds the short form takes one.
const shortOf = 6

func writeTo(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// kindsOf returns the kind of each served and creatable resource.
func kindsOf(client discovery.DiscoveryInterface) (map[schema.GroupVersionResource]string, error) {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, fmt.Errorf("list the resources: %w", err)
	}
	kinds := map[schema.GroupVersionResource]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("read the resources: %w", err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "watch") {
				kinds[gv.WithResource(r.Name)] = r.Kind
			}
		}
	}
	return kinds, nil
}

// restoresBlanks replaces every declared value by null and by an empty value.
func (w *fixture) restoresBlanks(t *testing.T, ch *chart, r *result) {
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error {
		g := x.generator(x.before)
		return x.edits(ctx, g.some(g.blanks(), x.size.of(blank)))
	})
	w.wantNoStrayWrites(t)
}

// isStrict turns scope Strict on, changes undeclared values, and makes all additions allowed by the schema.
func (w *fixture) isStrict(t *testing.T, ch *chart, r *result) {
	w.beStrict(t, ch)
	shapes := w.shapesOf(t, ch.objects)
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error {
		if len(x.before.GetManagedFields()) == 0 {
			// A blank in a keyed list has made the API server drop them: docs/reference.md describes Strict without
			// them.
			t.Logf("%s has no managed fields any more: additions to it stay", x.object)
			return nil
		}
		g := x.generator(x.before)
		return x.edits(ctx, slices.Concat(g.some(g.changedDefaults(), x.size.of(undeclared)),
			g.some(g.anywhere(shapes[x.object]), x.size.of(strict))))
	})
	w.wantNoStrayWrites(t)
}

// isLeftTo reports whether a lock excludes an undeclared value in every scope, as docs/reference.md describes:
// allocations, bindings, and values that cannot be removed.
func (o *object) isLeftTo(path []string) bool {
	in := func(prefix ...string) bool {
		return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
	}
	if in("metadata", "finalizers") || path[len(path)-1] == "caBundle" {
		return true // the sample of a finalizer has no domain, as those of Kubernetes itself
	}
	switch o.declared.GetKind() {
	case "ConfigMap", "Secret":
		return in("immutable") // once set, the API server refuses every change of the object
	case "ServiceAccount":
		return in("secrets") // with an element that has no name, the API server forgets who owns what in the object
	case "Service":
		return in("spec", "clusterIP") || in("spec", "clusterIPs") || in("spec", "ipFamilies") ||
			in("spec", "healthCheckNodePort") ||
			in("spec", "loadBalancerIP") || in("spec", "loadBalancerClass") || path[len(path)-1] == "nodePort"
	case "PersistentVolumeClaim", "PersistentVolume", "Pod", "Lease", "Namespace", "Node":
		return in("spec")
	case "DeviceTaintRule":
		return in("spec", "taint", "timeAdded") // the API server sets it with every change of the effect
	}
	return false
}

// withoutLeft removes the fields of an object that controllers and the API server write on their own.
func (o *object) withoutLeft(u map[string]any) {
	remove := func(path ...string) { unstructured.RemoveNestedField(u, path...) }
	switch o.declared.GetKind() {
	case "DeviceTaintRule":
		remove("spec", "taint", "timeAdded")
	case "HorizontalPodAutoscaler":
		remove("metadata", "annotations", "autoscaling.alpha.kubernetes.io/conditions") // the status, in version 1
	case "CertificateSigningRequest":
		remove("spec", "extra") // says by which certificate it was requested
	case "Node":
		remove("spec", "taints")
	case "Pod":
		// The volume of the token has another name in each Pod.
		remove("spec", "volumes")
		for _, c := range elements(u, "spec", "containers") {
			delete(c, "volumeMounts")
		}
	}
}
