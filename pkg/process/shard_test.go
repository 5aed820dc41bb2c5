package process

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestShardsHaveLeasesOfTheirOwn(t *testing.T) {
	shard, lease, err := ShardOf("helm-locker", "")
	check.That(t, err == nil && shard == nil && lease == "helm-locker", "without a selector: shard %v, lease %q, %v",
		shard, lease, err)
	leases := map[string]string{}
	for _, selector := range []string{"shard=a", "shard=b", "shard notin (a,b)", "!shard", "team,shard=a"} {
		shard, lease, err := ShardOf("helm-locker", selector)
		if err != nil || shard == nil {
			t.Errorf("%q: shard %v, %v", selector, shard, err)
			continue
		}
		if other, taken := leases[lease]; taken || !strings.HasPrefix(lease, "helm-locker-") ||
			len(validation.IsDNS1123Subdomain(lease)) > 0 {
			t.Errorf("%q has lease %q, as has %q", selector, lease, other)
		}
		leases[lease] = selector
	}
	_, one, _ := ShardOf("helm-locker", "team, shard in (b, a)")
	_, other, _ := ShardOf("helm-locker", "shard in (a,b),team")
	check.That(t, one == other, "one selector written in two ways has leases %q and %q", one, other)
}

func TestABadShardSelectorIsAnError(t *testing.T) {
	for _, selector := range []string{"shard in a", "=", "a=b=c", "shard=a b", "UPPER CASE"} {
		_, _, err := ShardOf("helm-locker", selector)
		check.That(t, err != nil && strings.Contains(err.Error(), selector), "%q: %v", selector, err)
	}
}
