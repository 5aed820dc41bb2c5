// Package neighbours tests a locked release beside the tools and controllers of users: Helm with its less common
// flags, tools built on Helm, and controllers that write to objects of the release. docs/behaviours.md or
// docs/reference.md has a row for each.
//
// Helm is real. Tools that are not available here (Flux, Terraform, Rancher, k3s, helm-diff, controllers) have
// stand-ins; the comment of a test describes how faithful its stand-in is.
package neighbours

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{ControllerManager: true}) }

// fixture is kit.Fixture with a fence, and with additions for this suite. The proxy counts from the fence on.
type fixture struct{ *kit.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{kit.Start(t)}
	w.LockFence()
	w.Proxy.Reset()
	return w
}

// settings is a chart of a ConfigMap with a value as its key, and of a Service. With the value broken, the API server
// refuses the Service: Helm has changed the ConfigMap by then.
const settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: "{{ .Values.key }}"}
{{- if .Values.broken }}` + kit.RefusedService + "{{ end }}\n"

// isGone fails the test when a ConfigMap exists. Helm has deleted it, or rolled it back.
func (w *fixture) isGone(name string) {
	w.Helper()
	if w.Get(kit.ConfigMaps, name) != nil {
		w.Errorf("ConfigMap %s is there", name)
	}
}

// locked installs settings with the key "one" as the release app, and locks it. From then on the proxy counts.
func (w *fixture) locked(h cluster.Helm, args ...string) (chart string) {
	w.Helper()
	chart = w.Chart("app", settings)
	w.Helm(h, append([]string{"install", "app", chart, "--set", "key=one"}, args...)...)
	w.Lock("app")
	w.Proxy.Reset()
	return chart
}

// fails runs a Helm command in Apps, and expects it to fail.
func (w *fixture) fails(h cluster.Helm, args ...string) {
	w.Helper()
	if out, err := h.Run(w.Ctx, append(args, "--namespace", w.Apps)...); err == nil {
		w.Fatalf("helm %v was to fail: %s", args, out)
	}
}

// protected waits until a revision of the release app is locked with a key, fails the test if the operator wrote to
// an object meanwhile, and shows that the lock is in force.
func (w *fixture) protected(revision int, key string) {
	w.Helper()
	w.WaitReady("app", revision)
	w.PassFence()
	w.ExpectNoWrites()
	w.ExpectKey("settings", key)
	before := w.reverted("settings")
	w.Reverts("settings", key)
	w.Until("the revert is complete", func() (any, bool) {
		n := w.reverted("settings")
		return n, n > before
	})
	w.Proxy.Reset()
}

// reverted returns the number of complete reverts of a ConfigMap: on a release of Helm 4, the last write of a revert
// is that of the field ownership.
func (w *fixture) reverted(name string) int {
	w.Helper()
	object := fmt.Sprintf("object=%q", "ConfigMap "+w.Apps+"/"+name)
	n := 0
	for line := range strings.Lines(w.Running.Log()) {
		if strings.Contains(line, "msg=reverted") && strings.Contains(line, object) {
			n++
		}
	}
	return n
}

// writes counts the operator's accepted writes to the object of a name since the last Reset.
func (w *fixture) writes(name string) int {
	return len(slices.DeleteFunc(kit.ObjectWrites(w.Proxy), func(r cluster.Request) bool {
		return !strings.HasSuffix(r.Path, "/"+name) || r.Code >= 400
	}))
}

// as returns an object after a change by a field manager.
func (w *fixture) as(
	manager string, gvr schema.GroupVersionResource, name string, kind types.PatchType, patch string,
) *unstructured.Unstructured {
	w.Helper()
	options := metav1.PatchOptions{FieldManager: manager}
	if kind == types.ApplyPatchType {
		force := true
		options.Force = &force
	}
	u, err := w.In(gvr, w.Apps).Patch(w.Ctx, name, kind, []byte(patch), options)
	check.NoError(w, err)
	return u
}

// at returns the value at a JSON pointer of an object; nil when there is none.
func at(u *unstructured.Unstructured, pointer string) any {
	if u == nil {
		return nil
	}
	var value any = u.Object
	for _, segment := range strings.Split(pointer, "/")[1:] {
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch v := value.(type) {
		case map[string]any:
			value = v[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// keeps fails the test unless a neighbour's value stays in an object from the neighbour's write on, also while a
// declared label of the same object, called part, is reverted. The operator has observed that write by then, because
// it was earlier.
func (w *fixture) keeps(gvr schema.GroupVersionResource, name, pointer string, want any, neighbour func()) {
	w.Helper()
	history := w.Record(gvr)
	neighbour()
	w.revertsLabel(gvr, name)
	history.CatchUp()
	seen := false
	for _, u := range history.States(gvr, name) {
		got := at(u, pointer)
		if seen && !reflect.DeepEqual(got, want) {
			w.Errorf("%s of %s %s became %v", pointer, gvr.Resource, name, got)
		}
		seen = seen || reflect.DeepEqual(got, want)
	}
	if !seen {
		w.Errorf("%s of %s %s never was %v", pointer, gvr.Resource, name, want)
	}
}

// revertsLabel tampers with the declared label part of an object, and waits until it is back.
func (w *fixture) revertsLabel(gvr schema.GroupVersionResource, name string) {
	w.Helper()
	w.Patch(gvr, name, `{"metadata":{"labels":{"part":"tampered"}}}`)
	w.WaitField(gvr, name, "metadata.labels.part", "declared")
}

// becomes waits until the value at a JSON pointer of an object is the wanted one; nil stands for none.
func (w *fixture) becomes(gvr schema.GroupVersionResource, name, pointer string, want any) {
	w.Helper()
	w.Until(pointer+" of "+name+" is as wanted", func() (any, bool) {
		got := at(w.Get(gvr, name), pointer)
		return got, reflect.DeepEqual(got, want)
	})
}
