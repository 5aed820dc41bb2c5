package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// many is a template of forty objects of ten kinds.
const many = `
{{- range $i := until 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
data: {key: "declared {{ $i }}", other: "stays"}
---
apiVersion: v1
kind: Secret
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
stringData: {key: "declared {{ $i }}"}
{{- end }}
{{- range $i := until 3 }}
---
apiVersion: v1
kind: Service
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
spec: {selector: {app: "many-{{ $i }}"}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: "many-{{ $i }}"}}
  template: {metadata: {labels: {app: "many-{{ $i }}"}}, spec: {containers: [{name: main, image: "example.com/main:1"}]}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
spec: {rules: [{host: declared.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: many-0, port: {number: 80}}}}]}}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: many-{{ $i }}, labels: {tier: "declared"}}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}}}}
{{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: many-0, labels: {tier: "declared"}}
spec: {minAvailable: 1, selector: {matchLabels: {app: many-0}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: many-0, labels: {tier: "declared"}}
spec: {podSelector: {matchLabels: {app: many-0}}}
`

// edits are, for every kind in many, a JSON merge patch of a declared field; %s is new content.
var edits = map[schema.GroupVersionResource]string{
	kit.ConfigMaps:  `{"data":{"key":"%s"}}`,
	kit.Secrets:     `{"stringData":{"key":"%s"}}`,
	kit.Services:    `{"spec":{"selector":{"app":"%s"}}}`,
	kit.Deployments: `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/other:%s"}]}}}}`,
	{Version: "v1", Resource: "serviceaccounts"}: `{"automountServiceAccountToken":true,"metadata":{"labels":{"tier":"%s"}}}`,
	{Group: "rbac.authorization.k8s.io", Version: "v1",
		Resource: "roles"}: `{"rules":[{"apiGroups":[""],"resources":["%s"],"verbs":["*"]}]}`,
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}:       `{"spec":{"rules":[{"host":"%s.example.com"}]}}`,
	{Group: "batch", Version: "v1", Resource: "cronjobs"}:                    `{"spec":{"schedule":"1 2 3 4 5","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/other:%s"}]}}}}},"metadata":{"labels":{"tier":null}}}`,
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}:       `{"spec":{"minAvailable":3,"selector":{"matchLabels":{"app":"%s"}}}}`,
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}: `{"spec":{"podSelector":{"matchLabels":{"app":"%s"}}}}`,
}

// target is one object of many with its state at the time of the lock.
type target struct {
	gvr    schema.GroupVersionResource
	name   string
	locked map[string]any
}

func (o target) String() string { return o.gvr.Resource + "/" + o.name }

// lockMany installs and locks the release of many and returns its forty objects in a fixed order.
func lockMany(w *fixture) []target {
	w.Helper()
	w.Installed(kit.Shared.Helm3(), "many", many)
	var targets []target
	for gvr := range edits {
		list, err := w.In(gvr, w.Apps).List(w.Ctx, metav1.ListOptions{LabelSelector: "tier=declared"})
		check.NoError(w, err)
		for _, u := range list.Items {
			targets = append(targets, target{gvr, u.GetName(), declared(&u)})
		}
	}
	if len(targets) != 40 {
		w.Fatalf("the release has %d objects", len(targets))
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return targets
}

// declared is the part of an object without the fields set by the API server and controllers; a re-created object has
// the same.
func declared(u *unstructured.Unstructured) map[string]any {
	o := u.DeepCopy()
	for _, path := range [][]string{
		{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "managedFields"},
		{"metadata", "creationTimestamp"},
	} {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	return o.Object
}

// restored reports whether the object is as it was when it was locked.
func (w *fixture) restored(o target) error {
	u, err := w.In(o.gvr, w.Apps).Get(w.Ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if now := declared(u); !reflect.DeepEqual(now, o.locked) {
		return fmt.Errorf("it is %v, want %v", now, o.locked)
	}
	return nil
}

func (w *fixture) waitRestored(targets ...target) {
	w.Helper()
	for _, o := range targets {
		w.Eventually(o.String()+" is as it was when it was locked", func() error { return w.restored(o) })
	}
}

// drifts makes changes, each of them different. It is safe for concurrent use.
type drifts struct {
	mu     sync.Mutex
	random *rand.Rand
	made   map[string]int
}

func newDrifts(t *testing.T) *drifts {
	const seed = 20
	t.Logf("random seed %d", seed)
	return &drifts{random: rand.New(rand.NewPCG(seed, seed)), made: map[string]int{}}
}

func (d *drifts) next() (kind int, content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kind = d.random.IntN(10)
	content = fmt.Sprintf("drift-%d", d.random.Uint32())
	d.made[[]string{"edited", "deleted", "lost Helm's label", "lost Helm's annotation", "label changed"}[max(0, kind-5)]]++
	return kind, content
}

// do changes or deletes an object in a way chosen at random.
func (d *drifts) do(w *fixture, o target) error {
	kind, content := d.next()
	patch := fmt.Sprintf(edits[o.gvr], content)
	switch kind {
	case 6:
		return w.In(o.gvr, w.Apps).Delete(w.Ctx, o.name, metav1.DeleteOptions{})
	case 7:
		patch = `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`
	case 8:
		patch = `{"metadata":{"annotations":{"meta.helm.sh/release-name":null}}}`
	case 9:
		patch = `{"metadata":{"labels":{"tier":"` + content + `"}}}`
	}
	_, err := w.In(o.gvr, w.Apps).Patch(w.Ctx, o.name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: kit.Tamperer})
	return err
}

// must is do, again and again while the API server cannot be reached.
func (d *drifts) must(w *fixture, o target) {
	w.Helper()
	w.Eventually("drift of "+o.String(), func() error {
		err := d.do(w, o)
		if apierrors.IsNotFound(err) { // an earlier attempt deleted it, and its answer was lost
			return nil
		}
		return err
	})
}

// all makes one change to each of the objects at the same time.
func (d *drifts) all(w *fixture, targets []target) {
	w.Helper()
	var wait sync.WaitGroup
	errs := make([]error, len(targets))
	for i, o := range targets {
		wait.Go(func() { errs[i] = d.do(w, o) })
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			w.Fatalf("drift of %s: %v", targets[i], err)
		}
	}
}

// Not parallel: it restarts the shared API server.
func TestI5_BurstOfFortyDrifts(t *testing.T) {
	w := newFixture(t)
	targets := lockMany(w)
	d := newDrifts(t)
	for range 3 {
		started := time.Now()
		d.all(w, targets)
		made := time.Since(started)
		w.waitRestored(targets...)
		t.Logf("40 drifts made in %s, all restored after %s", made.Round(time.Millisecond),
			time.Since(started).Round(time.Millisecond))
	}

	d.all(w, targets[:20])
	check.NoError(t, kit.Shared.RestartAPIServer(t.Context()))
	for _, o := range targets[20:] {
		d.must(w, o)
	}
	started := time.Now()
	w.waitRestored(targets...)
	t.Logf("with a restart of the API server in between: all restored after %s; %v",
		time.Since(started).Round(time.Millisecond), d.made)
	w.WaitReady("many", 1)
}

// Not parallel: it restarts the shared API server.
func TestI5_ThreeHundredDriftsInARow(t *testing.T) {
	w := newFixture(t)
	targets := lockMany(w)
	d := newDrifts(t)
	var lived []time.Duration
	for i := range 300 {
		o := targets[d.random.IntN(len(targets))]
		if i == 200 { // its change may be undone only by a watch that begins anew
			check.NoError(t, d.do(w, o))
			check.NoError(t, kit.Shared.RestartAPIServer(t.Context()))
			w.waitRestored(o)
		}
		d.must(w, o)
		made := time.Now()
		w.waitRestored(o)
		lived = append(lived, time.Since(made))
	}
	w.waitRestored(targets...)
	w.WaitReady("many", 1)
	slices.Sort(lived)
	t.Logf("%v; restored after %s in the median, %s at most", d.made, lived[len(lived)/2], lived[len(lived)-1])
	if len(d.made) != 5 {
		t.Errorf("some kind of change never happened: %v", slices.Sorted(maps.Keys(d.made)))
	}
}
