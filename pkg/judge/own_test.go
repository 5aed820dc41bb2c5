package judge

import (
	"testing"

	"github.com/rancher/helm-locker/pkg/manifest"
)

func TestReserved(t *testing.T) {
	own := Own{Namespace: "system", Name: "helm-locker", Fence: "helm-locker-mark"}
	lease := func(namespace, name string) manifest.Object {
		return manifest.Object{ID: manifest.ID{Group: "coordination.k8s.io", Kind: "Lease", Namespace: namespace,
			Name: name}}
	}
	core := func(kind, namespace, name string) manifest.Object {
		return manifest.Object{ID: manifest.ID{Kind: kind, Namespace: namespace, Name: name}}
	}
	record := core("Secret", "apps", "any")
	record.Content = map[string]any{"type": "helm.sh/release.v1"}
	for name, c := range map[string]struct {
		own    Own
		object manifest.Object
		want   bool
	}{
		"the lease":                       {own, lease("system", "helm-locker"), true},
		"the lease of a shard":            {own, lease("system", "helm-locker-0a1b2c3d"), true},
		"a lease of that name elsewhere":  {own, lease("apps", "helm-locker"), false},
		"another lease beside it":         {own, lease("system", "helm-lockers"), false},
		"any lease, of no operator":       {Own{}, lease("", ""), false},
		"the fence":                       {own, core("Secret", "system", "helm-locker-mark"), true},
		"a secret of that name elsewhere": {own, core("Secret", "apps", "helm-locker-mark"), false},
		"another secret beside it":        {own, core("Secret", "system", "helm-locker-page"), false},
		"a HelmRelease": {Own{},
			manifest.Object{ID: manifest.ID{Group: "helm.cattle.io", Kind: "HelmRelease", Namespace: "any",
				Name: "x"}}, true},
		"a HelmRelease of Flux": {own,
			manifest.Object{ID: manifest.ID{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "system",
				Name: "x"}}, false},
		"the definition of HelmReleases": {own,
			manifest.Object{ID: manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
				Name: "helmreleases.helm.cattle.io"}}, false},
		"a record in a Secret":              {own, core("Secret", "apps", "sh.helm.release.v1.shop.v3"), true},
		"a record by its type":              {own, record, true},
		"a record in a ConfigMap":           {own, core("ConfigMap", "apps", "sh.helm.release.v1.shop.v3"), true},
		"the operator's own ServiceAccount": {own, core("ServiceAccount", "system", "helm-locker"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if why := c.own.Reserved(c.object); (why != "") != c.want {
				t.Errorf("reserved is %t (%s), want %t", why != "", why, c.want)
			}
		})
	}
}
