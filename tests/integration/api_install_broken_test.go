package integration

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// The creation is tried again, whether or not it was carried out.
func outlivesBrokenConnections(t *testing.T, in *installation) {
	for name, action := range map[string]cluster.Action{"before the creation": cluster.Drop(),
		"after it": cluster.DropAnswer()} {
		in.remove(t, definitionName)
		var broken atomic.Int32
		mend := in.proxy.Intercept(func(r *http.Request) cluster.Action {
			if r.Method == http.MethodPost && broken.Add(1) <= 2 {
				return action
			}
			return cluster.Forward()
		})
		in.create(t)
		mend()
		check.That(t, broken.Load() != 0, "%s: no connection was broken", name)
		in.stored(t)
	}
}
