package judge

import (
	"testing"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestReserved(t *testing.T) {
	own := Own{Namespace: "system", Name: "helm-locker", Fence: "helm-locker-mark", Guard: "cert"}
	lease := func(namespace, name string) manifest.Object {
		return manifest.Object{ID: manifest.ID{Group: "coordination.k8s.io", Kind: "Lease", Namespace: namespace, Name: name}}
	}
	core := func(kind, namespace, name string) manifest.Object {
		return manifest.Object{ID: manifest.ID{Kind: kind, Namespace: namespace, Name: name}}
	}
	definition := func(name string) manifest.Object {
		return manifest.Object{ID: manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: name}}
	}
	registration := func(name string) manifest.Object {
		return manifest.Object{ID: manifest.ID{Group: "admissionregistration.k8s.io",
			Kind: "ValidatingWebhookConfiguration", Name: name}}
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
			manifest.Object{ID: manifest.ID{Group: "helm.cattle.io", Kind: "HelmRelease", Namespace: "any", Name: "x"}}, true},
		"a HelmRelease of Flux": {own,
			manifest.Object{ID: manifest.ID{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "system",
				Name: "x"}}, false},
		"the definition of HelmReleases":                      {own, definition("helmreleases.helm.cattle.io"), true},
		"the definition of HelmReleasePolicies":               {own, definition("helmreleasepolicies.helm.cattle.io"), true},
		"the definition of another kind of the group, of k3s": {own, definition("helmcharts.helm.cattle.io"), false},
		"a HelmReleasePolicy": {own,
			manifest.Object{ID: manifest.ID{Group: "helm.cattle.io", Kind: "HelmReleasePolicy", Namespace: "any",
				Name: "x"}}, true},
		"the certificate of the guard":             {own, core("Secret", "system", "cert"), true},
		"the certificate of the guard of a shard":  {own, core("Secret", "system", "helm-locker-0a1b2c3d-guard"), true},
		"a certificate of that name elsewhere":     {own, core("Secret", "apps", "cert"), false},
		"a certificate of a guard elsewhere":       {own, core("Secret", "apps", "helm-locker-guard"), false},
		"the registration of the guard":            {own, registration("system-cert"), true},
		"the registration of the guard of a shard": {own, registration("system-helm-locker-0a1b2c3d-guard"), true},
		"a registration of others":                 {own, registration("cert"), false},
		"a registration of another guard":          {own, registration("body-guard"), false},
		"an Event":                                 {own, core("Event", "apps", "x"), true},
		"an Event of the newer API": {own,
			manifest.Object{ID: manifest.ID{Group: "events.k8s.io", Kind: "Event", Namespace: "any", Name: "x"}}, true},
		"a record in a Secret":              {own, core("Secret", "apps", "sh.helm.release.v1.shop.v3"), true},
		"a record by its type":              {own, record, true},
		"a record in a ConfigMap":           {own, core("ConfigMap", "apps", "sh.helm.release.v1.shop.v3"), true},
		"the operator's own ServiceAccount": {own, core("ServiceAccount", "system", "helm-locker"), false},
	} {
		t.Run(name, func(t *testing.T) {
			why := c.own.Reserved(c.object)
			check.That(t, (why != "") == c.want, "reserved is %t (%s), want %t", why != "", why, c.want)
		})
	}
}
