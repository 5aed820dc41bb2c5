package kit

import (
	"net/http"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// AsTool returns a Helm with another field manager, as of a tool built on Helm's library: the helm command always
// uses the name helm, so its requests go through a proxy that changes the name.
func (e *Env) AsTool(h cluster.Helm, manager string) cluster.Helm {
	e.Helper()
	proxy := e.NewProxy()
	proxy.Intercept(func(r *http.Request) cluster.Action {
		if query := r.URL.Query(); query.Get("fieldManager") == "helm" {
			query.Set("fieldManager", manager)
			r.URL.RawQuery = query.Encode()
		}
		r.Header.Set("User-Agent", manager+"/v1") // as which it writes its records
		return cluster.Forward()
	})
	kubeconfig, err := e.Cluster.KubeconfigFor(e.Apps+"-"+manager, proxy.Via(e.Cluster.HelmConfig()))
	check.NoError(e, err)
	h.Kubeconfig = kubeconfig
	return h
}
