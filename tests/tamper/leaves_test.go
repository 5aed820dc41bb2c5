package tamper

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// leaf is a scalar of a manifest, and other values for it, the likeliest to be accepted first.
type leaf struct {
	path   []string
	values []any
}

// helmChangesEveryLeaf applies every object of a release of Helm 4 under another manager. When that is reverted, Helm
// upgrades to a manifest with another value for every leaf where the API server accepts one, without force. The short
// form changes a sample of the leaves.
func (w *fixture) helmChangesEveryLeaf(t *testing.T, ch *chart, r *result) {
	if ch.version != 4 {
		t.Skip("Helm 3 knows no conflicts")
	}
	w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error { return x.takeOver(ctx) })
	w.helmOwnsAlone(t, ch)
	text, err := ch.helm.Run(t.Context(), "get", "manifest", ch.release, "--namespace", ch.release)
	check.NoError(t, err)
	written, err := kit.DecodeAsWritten(text)
	check.NoError(t, err)
	var next bytes.Buffer
	leaves, changed := 0, 0
	for i, u := range written {
		x, err := ch.on(t.Context(), ch.objects[i], r)
		check.NoError(t, err)
		x.watch.watch.Stop()
		c := &changer{tampering: x, manager: drift.ManagedBy(x.before.GetManagedFields()).Manager, object: u.Object}
		all, err := x.leavesOf(u.Object)
		check.NoError(t, err)
		check.NoError(t, c.change(t.Context(), all))
		leaves, changed = leaves+len(all), changed+c.changed
		if _, err := c.apply(t.Context(), c.object, false); err != nil {
			t.Errorf("Helm's next apply of %s: %v", x.object, err)
		}
		if x.affectsOthers() {
			c.object = u.Object
		}
		fmt.Fprintln(&next, "---")
		check.NoError(t, json.NewEncoder(&next).Encode(c.object))
	}
	t.Logf("%d of %d leaves of %d objects are changed", changed, leaves, len(written))
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	check.NoError(t, os.WriteFile(file, next.Bytes(), 0o600))
	ch.path, ch.args = kit.ManifestChart(t, "leaves", ch.release, file)
	before := w.in(t, ch).HelmRelease(ch.release).Status.Revision
	check.NoError(t, ch.run(t.Context(), "upgrade", ""))
	w.in(t, ch).WaitReady(ch.release, before+1)
}

// affectsOthers reports whether other values in the object change what the API server accepts of other objects.
func (o *object) affectsOthers() bool {
	switch o.declared.GroupVersionKind().Group {
	case "admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io":
		return true
	}
	return slices.Contains([]string{"LimitRange", "ResourceQuota"}, o.declared.GetKind())
}

// leavesOf returns the leaves of an object as it is written in its manifest, in the short form a sample.
func (x *tampering) leavesOf(written map[string]any) ([]leaf, error) {
	limit := 25
	switch {
	case x.isDefinition() && !*full:
		limit = 3
	case x.isDefinition():
		limit = 25
	case *full:
		limit = 1000
	}
	all := slices.DeleteFunc(kit.Tamperings(written), func(t kit.Tampering) bool {
		return t.Remove || x.staysInUpgrade(t.Path)
	})
	var leaves []leaf
	for _, t := range kit.Sample(all, limit) {
		patches, err := t.Patches(written, written)
		if err != nil {
			return nil, err
		}
		l := leaf{path: t.Path}
		for _, patch := range patches {
			var operations []operation
			if err := json.Unmarshal(patch, &operations); err != nil {
				return nil, fmt.Errorf("decode a patch: %w", err)
			}
			l.values = append(l.values, operations[0].Value)
		}
		leaves = append(leaves, l)
	}
	return leaves, nil
}

// staysInUpgrade reports whether a leaf stays as it is: it belongs to an autoscaler, is about Helm's work, may be that
// of another object of the release, or holds a deletion up.
func (x *tampering) staysInUpgrade(path []string) bool {
	last := path[len(path)-1]
	return x.autoscaled && last == "replicas" || last == "nodePort" || last == "app.kubernetes.io/managed-by" ||
		strings.HasPrefix(last, "helm.sh/") || len(path) > 1 && path[1] == "finalizers"
}

// changer changes leaves of an object as far as the API server accepts them together.
type changer struct {
	*tampering
	manager string
	object  map[string]any
	changed int
}

// change changes all leaves at once, or else each half of them: only those that are refused alone stay as they are.
func (c *changer) change(ctx context.Context, leaves []leaf) error {
	if len(leaves) == 0 {
		return nil
	}
	for choice := range leaves[0].values {
		if choice > 0 && len(leaves) > 1 {
			break
		}
		trial := runtime.DeepCopyJSON(c.object)
		for _, l := range leaves {
			put(trial, l.path, l.values[min(choice, len(l.values)-1)])
		}
		accepted, err := c.apply(ctx, trial, true)
		if accepted {
			c.object, c.changed = trial, c.changed+len(leaves)
			return nil
		}
		if err != nil && !isRefusal(err) {
			return err
		}
	}
	if len(leaves) == 1 {
		return nil
	}
	half := len(leaves) / 2
	if err := c.change(ctx, leaves[:half]); err != nil {
		return err
	}
	return c.change(ctx, leaves[half:])
}

// apply asks the API server whether it accepts an apply by Helm's manager.
func (c *changer) apply(ctx context.Context, object map[string]any, force bool) (accepted bool, err error) {
	body, err := json.Marshal(object)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", c.tampering.object, err)
	}
	_, err = c.resource.Patch(ctx, c.name(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: c.manager, Force: &force, DryRun: []string{metav1.DryRunAll}})
	return err == nil, err
}
