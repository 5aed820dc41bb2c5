package neighbours

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// upgradeWrites is how many writes an upgrade of two ConfigMaps is: the new record, both ConfigMaps, the old record,
// and the new one again. TestNeighbour_KilledUpgrade counts them.
const upgradeWrites = 5

// An upgrade is killed before each of its writes. Until it has stored its record the release is locked as before;
// then it is unlocked, and stays so. Helm's own remedy, a rollback, locks it again, with all changes meanwhile
// reverted.
func TestNeighbour_KilledUpgrade(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		for point := 1; point <= upgradeWrites+1; point++ {
			t.Run(fmt.Sprintf("before write %d", point), func(t *testing.T) {
				t.Parallel()
				newFixture(t).killed(h, point)
			})
		}
	})
}

func (w *fixture) killed(h cluster.Helm, point int) {
	w.Helper()
	chart := w.Chart("app", `
{{- range $name := list "settings" "further" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $name }}}
data: {key: "{{ $.Values.key }}"}
{{- end }}
`)
	w.Helm(h, "install", "app", chart, "--set", "key=one")
	w.Lock("app")
	w.Proxy.Reset()
	err := w.killAt(h, point, "upgrade", "app", chart, "--set", "key=two", "--namespace", w.Apps)
	switch {
	case point > upgradeWrites:
		check.NoError(w, err)
		w.protected(2, "two")
		return
	case err == nil:
		w.Fatalf("the upgrade has fewer than %d writes", point)
	case point == 1:
		w.protected(1, "one")
		w.Helm(h, "upgrade", "app", chart, "--set", "key=two")
		w.protected(2, "two")
		return
	}
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning, "pending-upgrade")
	w.Patch(kit.ConfigMaps, "further", `{"data":{"key":"tampered"}}`)
	w.PassFence()
	w.ExpectNoWrites()
	w.ExpectKey("further", "tampered")
	rollback := []string{"rollback", "app", "1"}
	if h.Name == helm4 {
		rollback = append(rollback, "--force-conflicts") // because of the tampering
	}
	w.Helm(h, rollback...)
	w.protected(3, "one")
	w.WaitField(kit.ConfigMaps, "further", "data.key", "one")
}

// killAt runs a Helm command and kills it at its nth write: neither this nor a later one reaches the API server. A
// command with fewer writes ends by itself.
func (w *fixture) killAt(h cluster.Helm, point int, args ...string) error {
	w.Helper()
	ctx, kill := context.WithCancel(w.Ctx)
	defer kill()
	var writes atomic.Int64
	between := w.NewProxy()
	between.Intercept(func(r *http.Request) cluster.Action {
		if !cluster.IsWrite(r) || int(writes.Add(1)) < point {
			return cluster.Forward()
		}
		kill()
		return cluster.Drop()
	})
	kubeconfig, err := w.Cluster.KubeconfigFor(w.Apps+"-killed", between.Via(w.Cluster.HelmConfig()))
	check.NoError(w, err)
	h.Kubeconfig = kubeconfig
	_, err = h.Run(ctx, args...)
	return err
}
