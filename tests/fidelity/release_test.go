package fidelity

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// release is a chart of shapes, installed by one Helm and locked.
type release struct {
	*fixture
	helm     cluster.Helm
	helmName string
	chart    string
	shapes   []*shape
}

// install makes a release of the shapes for this Helm, locks it, and checks that neither this lock nor a second one
// writes.
func (w *fixture) install(helmName string, helm cluster.Helm, shapes []shape) *release {
	w.Helper()
	r := &release{fixture: w, helm: helm, helmName: helmName}
	var manifest strings.Builder
	for i := range shapes {
		if s := &shapes[i]; s.helm == "" || s.helm == helmName {
			r.shapes = append(r.shapes, s)
			manifest.WriteString("\n---\n" + strings.ReplaceAll(s.manifest, "NOTE", `"{{ .Values.note }}"`))
		}
	}
	w.Proxy.Reset()
	r.chart = w.installed(helm, manifest.String(), "note=first")
	w.expectNoWrites("at the lock")
	w.relock()
	w.expectNoWrites("at the second lock")
	return r
}

// reverts has every edit of every shape made and waits until it is taken back. Objects are tampered with side by side.
func (r *release) reverts(t *testing.T) {
	t.Run("edits", func(t *testing.T) {
		for _, s := range r.shapes {
			t.Run(strings.ReplaceAll(s.object, "/", " "), func(t *testing.T) {
				t.Parallel()
				o := r.on(t).target(s)
				// A change of an undeclared field makes the operator compare again and must not make it write.
				o.tamper(types.MergePatchType, `{"metadata":{"annotations":{"example.com/seen":"yes"}}}`, "bystander")
				before := o.asLeft(o.live())
				for _, e := range s.edits {
					if e.helm != "" && e.helm != r.helmName {
						continue
					}
					e.owns = e.owns || e.folded && r.helmName == "helm 4"
					t.Run(e.name, func(t *testing.T) {
						x := r.on(t).target(s)
						if !x.revertsEdit(e, before) || e.stays != "" || e.owns {
							before = x.asLeft(x.live()) // so that the other edits are judged by themselves
						}
					})
				}
				o.expectFewWrites(len(s.edits), r.helmName)
			})
		}
	})
}

// revertsEdit makes one edit and waits until the object is as before, except for the undeclared rest of the edit.
func (o *target) revertsEdit(e edit, before map[string]any) bool {
	o.Helper()
	want := maps.Clone(before)
	if e.stays != "" {
		dry, err := o.In(o.gvr, o.namespace()).Patch(o.Ctx, o.name(), types.JSONPatchType, []byte(e.stays),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		check.NoError(o, err)
		want = o.asLeft(dry)
	}
	if e.stays != "" || e.owns {
		delete(want, ownership)
	}
	edited := o.asLeft(o.tamper(e.patchType(), e.patch, kit.Tamperer))
	delete(edited, ownership)
	content := maps.Clone(want)
	delete(content, ownership)
	if kit.Difference(content, edited, "", surplus) == nil {
		o.Fatalf("the edit changed nothing: %s", e.patch)
	}
	return o.comes(want)
}

// expectFewWrites checks that the reverts of an object's edits took the minimum of writes: one each; with server-side
// apply and a foreign field to remove, a second and third one for the field ownership.
func (o *target) expectFewWrites(edits int, helmName string) {
	o.Helper()
	found := o.to(o.name(), o.gvr.Resource)
	if helmName == "helm 4" {
		edits *= 3
	}
	if len(found) > edits {
		o.Errorf("%d writes, want at most %d: %v", len(found), edits, found)
	}
}

// upgrades changes every object by the same Helm, without force, and checks that the operator writes nothing then,
// nor at another lock.
func (r *release) upgrades() {
	r.Helper()
	// An object can be as before while the last of several writes, about the ownership of its fields, is on its way.
	r.relock()
	r.Proxy.Reset()
	r.relock()
	r.expectNoWrites("after the reverts")
	r.upgraded(r.helm, r.chart, "note=second")
	r.relock()
	r.expectNoWrites("after the upgrade")
	for _, s := range r.shapes {
		if note := r.target(s).live().GetAnnotations()["note"]; note != "second" && !s.static {
			r.Errorf("%s has the note %q after the upgrade", s.object, note)
		}
		for path, want := range s.after {
			if got := kit.Field(r.target(s).live(), path); got != want {
				r.Errorf("%s of %s is %v after the upgrade, want %v", path, s.object, got, want)
			}
		}
	}
}

// withstand runs a test of shapes with both Helms.
func withstand(t *testing.T, prepare func(w *fixture) []shape) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		r := w.install(helm.Name, helm, prepare(w))
		r.reverts(t)
		if !t.Failed() {
			r.upgrades()
		}
	})
}
