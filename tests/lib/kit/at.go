package kit

import (
	"strings"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// At returns the environment with another namespace for releases.
func (e *Env) At(namespace string) *Env {
	other := *e
	other.Apps = namespace
	return &other
}

// HelmThrough returns a Helm whose requests go through a proxy of its own.
func (e *Env) HelmThrough(h cluster.Helm) (cluster.Helm, *cluster.Proxy) {
	e.Helper()
	proxy := e.NewProxy()
	var err error
	h.Kubeconfig, err = e.Cluster.KubeconfigFor("helm-"+e.Apps, proxy.Via(e.Cluster.HelmConfig()))
	check.NoError(e, err)
	return h, proxy
}

// ConfigMapIn is ConfigMap with a namespace of its own choice.
func ConfigMapIn(namespace, name, value string) string {
	return strings.Replace(ConfigMap(name, value), "{name: "+name+"}", "{name: "+name+", namespace: "+namespace+"}", 1)
}
