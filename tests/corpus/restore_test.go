package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/helm-locker/tests/kit"
)

const (
	// sample and most bound the tamperings of one object, in the short form and in the full one: a single
	// CustomResourceDefinition has ten thousand scalars.
	sample, most = 6, 250
	// The bounds for CustomResourceDefinitions, of which the API server can take a second to write one.
	sampleOfDefinitions, mostOfDefinitions = 2, 30

	// hands is how many objects are tampered with at the same time.
	hands = 4
	// patience is how long a restoration may take.
	patience = 60 * time.Second
)

// harm is a tampering by one patch.
type harm struct{ what, patch string }

// ownership returns what every object gets besides: tampering with what Helm knows its objects by.
func ownership() []harm {
	return []harm{
		{"remove Helm's label", `[{"op":"remove","path":"/metadata/labels/app.kubernetes.io~1managed-by"}]`},
		{"edit Helm's annotation", `[{"op":"replace","path":"/metadata/annotations/meta.helm.sh~1release-name","value":"nobody"}]`},
		{"remove Helm's annotations", `[{"op":"remove","path":"/metadata/annotations/meta.helm.sh~1release-name"},` +
			`{"op":"remove","path":"/metadata/annotations/meta.helm.sh~1release-namespace"}]`},
	}
}

// restoresEverything tampers with all objects of a chart, several at a time, and returns what became of it.
func (w *world) restoresEverything(t *testing.T, ch *chart) *row {
	w.proxy.Reset()
	begin := time.Now()
	r := &row{chart: ch.name, objects: len(ch.objects)}
	var wait sync.WaitGroup
	turns := make(chan struct{}, hands)
	for _, o := range ch.objects {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			x := &tampering{object: o, row: r}
			if err := x.all(t.Context()); err != nil {
				t.Errorf("%s: %v", o, err)
			}
			if x.failed {
				t.Logf("the operator on %s:\n%s", o, linesWith(w.operator.Log(), o.name()))
			}
		})
	}
	wait.Wait()
	for _, f := range r.failed {
		t.Error(f)
	}
	r.took = time.Since(begin)
	for _, write := range w.writes(ch) {
		if write.Code < http.StatusBadRequest { // a conflict only asked for a fresh look
			r.writes++
		}
	}
	t.Logf("\n%s", &report{rows: []*row{r}})
	hr := w.in(t, ch).WaitReady(ch.name, 0)
	if hr.Status.Objects.Drifted+hr.Status.Objects.Contended+hr.Status.Objects.Waiting > 0 {
		t.Errorf("afterwards the counts of objects are %+v", hr.Status.Objects)
	}
	return r
}

// tampering is the work on one object.
type tampering struct {
	*object
	row    *row
	before *unstructured.Unstructured
	// failed is set when something was not restored.
	failed bool
}

func (x *tampering) all(ctx context.Context) (err error) {
	if x.before, err = x.get(ctx); err != nil {
		return err
	}
	edits := kit.Tamperings(x.declared.Object)
	limit, rest, definition := sample, ownership(), x.declared.GetKind() == "CustomResourceDefinition"
	switch {
	case everything && definition:
		limit = mostOfDefinitions
	case everything:
		limit = most
	case definition:
		limit, rest = sampleOfDefinitions, rest[:1]
	}
	for _, e := range kit.Sample(edits, limit) {
		if x.exempt(e) {
			x.row.count(&x.row.exempt)
			continue
		}
		patches, err := e.Patches(x.declared.Object, x.before.Object)
		if err != nil {
			return err
		}
		if len(patches) == 0 {
			x.row.count(&x.row.absent)
			continue
		}
		if err := x.edit(ctx, e.String(), patches); err != nil {
			return err
		}
	}
	for _, c := range rest {
		if err := x.edit(ctx, c.what, [][]byte{[]byte(c.patch)}); err != nil {
			return err
		}
	}
	return x.delete(ctx)
}

// exempt says whether a tampering is one that a lock allows: the choice of an autoscaler that the chart asked for, and the
// exchange of a finalizer, after which the declared one is put back and the other one stays, for taking out what another
// controller waits for would be an act of its own.
func (x *tampering) exempt(e kit.Tampering) bool {
	switch {
	case len(e.Path) == 2 && e.Path[0] == "spec" && e.Path[1] == "replicas":
		return x.autoscaled
	case len(e.Path) == 3 && e.Path[1] == "finalizers":
		return !e.Remove
	}
	return false
}

// content is content without the replicas that an autoscaler chooses: while its range is tampered with, it may choose others.
func (x *tampering) content(u *unstructured.Unstructured, id identity) map[string]any {
	c := content(u, id)
	if x.autoscaled {
		unstructured.RemoveNestedField(c, "spec", "replicas")
	}
	return c
}

// edit sends the first of the patches that the API server accepts, and waits until its effect is gone.
func (x *tampering) edit(ctx context.Context, what string, patches [][]byte) error {
	want := x.content(x.before, same)
	for _, patch := range patches {
		done, err := x.resource.Patch(ctx, x.name(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: kit.Tamperer})
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < http.StatusInternalServerError {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if difference(want, x.content(done, same)) == "" {
			x.row.count(&x.row.noChange)
			return nil
		}
		left, err := x.restored(ctx, what, done.GetResourceVersion(), func(u *unstructured.Unstructured) string {
			return difference(want, x.content(u, same))
		})
		if err != nil {
			return err
		}
		if left {
			return x.repair(ctx)
		}
		return nil
	}
	x.row.count(&x.row.refused)
	return nil
}

// delete deletes the object and waits until it is there again.
func (x *tampering) delete(ctx context.Context) error {
	want := x.content(x.before, successor)
	now, err := x.get(ctx)
	if err != nil {
		return err
	}
	if err := x.resource.Delete(ctx, x.name(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	_, err = x.restored(ctx, "delete", now.GetResourceVersion(), func(u *unstructured.Unstructured) string {
		if u.GetUID() == now.GetUID() {
			return ": it is still being deleted"
		}
		return difference(want, x.content(u, successor))
	})
	return err
}

// restored watches the object from a resource version on until it is as wanted, and records how long that took, or what
// is left of the tampering when it takes too long.
func (x *tampering) restored(ctx context.Context, what, from string, differs func(*unstructured.Unstructured) string) (failed bool, err error) {
	begin := time.Now()
	events, err := x.resource.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + x.name(), ResourceVersion: from})
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", x.object, err)
	}
	defer events.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	left := ": nobody wrote to it"
	for {
		select {
		case <-deadline.C:
			x.row.settle(time.Since(begin), x.object, what, left)
			x.failed = true
			return true, nil
		case event := <-events.ResultChan():
			u, ok := event.Object.(*unstructured.Unstructured)
			switch {
			case !ok || event.Type == watch.Error:
				return false, fmt.Errorf("the watch of %s ended: %v", x.object, event)
			case event.Type == watch.Deleted:
				left = ": it does not exist"
				continue
			}
			if left = differs(u); left == "" {
				x.row.settle(time.Since(begin), x.object, what, left)
				return false, nil
			}
		}
	}
}

// repair puts a failure right by hand, so that the next tampering is judged by itself.
func (x *tampering) repair(ctx context.Context) error {
	c := x.content(x.before, same)
	body, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode %s: %w", x.object, err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return fmt.Errorf("decode %s: %w", x.object, err)
	}
	now, err := x.get(ctx)
	if err != nil {
		return err
	}
	u.SetResourceVersion(now.GetResourceVersion())
	if _, err := x.resource.Update(ctx, u, metav1.UpdateOptions{FieldManager: kit.Tamperer}); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("repair: %w", err)
	}
	return nil
}

// linesWith returns the lines of a log that mention a name.
func linesWith(log, name string) string {
	var found []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, name) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}
