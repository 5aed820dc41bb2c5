package order

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// ownMetadata are changes of Helm's own metadata. The tamperer then owns more of it than Helm, or all.
var ownMetadata = map[string]map[string]any{
	"another name": {"annotations": map[string]any{"meta.helm.sh/release-name": "other"}},
	"another name, no label": {"annotations": map[string]any{"meta.helm.sh/release-name": "other"},
		"labels": map[string]any{"app.kubernetes.io/managed-by": nil}},
	"another name and label": {"annotations": map[string]any{"meta.helm.sh/release-name": "other"},
		"labels": map[string]any{"app.kubernetes.io/managed-by": "other"}},
	"nothing left": {"annotations": map[string]any{"meta.helm.sh/release-name": "other",
		"meta.helm.sh/release-namespace": "other"}, "labels": map[string]any{"app.kubernetes.io/managed-by": "other"}},
	"nothing left, deleted": {"annotations": map[string]any{"meta.helm.sh/release-name": nil,
		"meta.helm.sh/release-namespace": nil}, "labels": map[string]any{"app.kubernetes.io/managed-by": nil}},
}

// An object is taken away from its release before the lock, so the lock has never seen Helm's manager on it.
func TestI4_TakenAwayBeforeTheLock(t *testing.T) {
	for helm, h := range kit.Helms(kit.Shared) {
		for change, metadata := range ownMetadata {
			t.Run(helm+" "+change, func(t *testing.T) { takenAway(newFixture(t), h, metadata) })
		}
	}
}

func takenAway(b *fixture, h cluster.Helm, metadata map[string]any) {
	b.Helm(h, "install", "app", b.Chart("app", oneValue), "--set", "value=one")
	before := asLeft(b, b.Get(kit.ConfigMaps, "app"))
	body, err := json.Marshal(map[string]any{"metadata": metadata, "data": map[string]any{"value": "two"}})
	check.NoError(b, err)
	b.Patch(kit.ConfigMaps, "app", string(body))
	b.Lock("app")
	b.Eventually("the object is as Helm left it", func() error {
		live := b.Get(kit.ConfigMaps, "app")
		if live == nil {
			return errors.New("it does not exist")
		}
		return kit.Difference(before, asLeft(b, live), "", nil)
	})
}
