package fidelity

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Two tools built on Helm, one after the other: a revert belongs to the one that wrote last. Its next upgrade changes
// and drops its fields without a conflict.
func TestTools_TheNewerOnesShareStays(t *testing.T) {
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: first}\n"
	const second = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: second, dropped: second}\n"
	const third = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: third}\n"
	type tool struct {
		helm   cluster.Helm
		manage []string // what makes its upgrade own what another tool applied
	}
	for version, helm := range kit.Helms(kit.Shared) {
		for _, order := range [][2]string{{"helm-controller", "helm"}, {"helm", "helm-controller"}} {
			t.Run(version+" "+order[0]+" then "+order[1], func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				older, newer := w.AsTool(helm, order[0]), tool{helm: w.AsTool(helm, order[1])}
				if version == "helm 4" {
					newer.manage = []string{"--force-conflicts"}
				}
				w.Helm(older, "install", "app", w.Chart("app", first))
				w.Helm(newer.helm, append([]string{"upgrade", "app", w.Chart("app", second)}, newer.manage...)...)
				w.Lock("app")
				w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered","dropped":"tampered"}}`)
				w.WaitField(kit.ConfigMaps, "settings", "data.key", "second")
				w.WaitField(kit.ConfigMaps, "settings", "data.dropped", "second")
				w.WaitReady("app", 2)
				w.Helm(newer.helm, "upgrade", "app", w.Chart("app", third))
				w.WaitReady("app", 3)
				u := w.Get(kit.ConfigMaps, "settings")
				if key, dropped := kit.Field(u, "data.key"), kit.Field(u, "data.dropped"); key != "third" ||
					dropped != nil {
					t.Errorf("after the upgrade the keys are %v and %v", key, dropped)
				}
			})
		}
	}
}
