package guard

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// upgrades is the number of upgrades; the operator is killed before a third of them.
var upgrades = flag.Int("upgrades", 12, "how many upgrades TestTrust_UpgradesDuringRestartsStayTrusted makes")

// next starts another operator, which the API server asks once it knows the HelmReleases, as by a readiness probe.
func (f *trusting) next() {
	f.Helper()
	f.start(witnessed)
	address := f.guardAddress(f.Running)
	f.Until("the operator knows the HelmReleases", func() (any, bool) {
		return "", strings.Contains(f.Running.Log(), "managing ")
	})
	f.front.to(address)
}

// helm upgrade stays trusted while the operator restarts, with and without a webhook that answers: what no operator
// sees is trusted because Helm has made the objects as declared.
func TestTrust_UpgradesDuringRestartsStayTrusted(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	f.inForce()
	h := f.Cluster.Helm4()
	f.Helm(h, "install", "app", f.Chart("app", kit.ConfigMap("app", "0")))
	f.Lock("app")
	unseen, longest := 0, time.Duration(0)
	for i := 1; i <= *upgrades; i++ {
		switch i % 3 {
		case 1: // a rolling restart: the next operator serves before the last one ends
			last := f.Running
			f.next()
			last.Stop()
		case 2: // a killed operator: the address is dead during the upgrade
			f.front.to("")
			f.Running.Stop()
		}
		value := fmt.Sprint(i)
		f.Helm(h, "upgrade", "app", f.Chart("app", kit.ConfigMap("app", value)))
		if i%3 == 2 {
			f.next()
		}
		begun := time.Now()
		f.WaitReady("app", i+1)
		longest = max(longest, time.Since(begun))
		trust := f.HelmRelease("app").Status.Trust
		if trust == nil || trust.State != v1alpha1.TrustStateTrusted {
			t.Fatalf("the trust in revision %d is %+v", i+1, trust)
		}
		if trust.Reason != v1alpha1.TrustWitnessed {
			unseen++
		}
		f.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
		f.WaitField(kit.ConfigMaps, "app", "data.key", value)
	}
	t.Logf("%d upgrades, %d of them not witnessed; the longest wait for the trust was %s", *upgrades, unseen, longest)
	if away := (*upgrades + 1) / 3; unseen > away {
		t.Errorf("%d of %d upgrades were not witnessed, and the operator was away in %d", unseen, *upgrades, away)
	}
}
