package process

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestShardsHaveLeasesOfTheirOwn(t *testing.T) {
	if shard, lease, err := ShardOf("helm-locker", ""); err != nil || shard != nil || lease != "helm-locker" {
		t.Errorf("without a selector: shard %v, lease %q, %v", shard, lease, err)
	}
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
	if one != other {
		t.Errorf("one selector written in two ways has leases %q and %q", one, other)
	}
}

func TestABadShardSelectorIsAnError(t *testing.T) {
	for _, selector := range []string{"shard in a", "=", "a=b=c", "shard=a b", "UPPER CASE"} {
		_, _, err := ShardOf("helm-locker", selector)
		if err == nil || !strings.Contains(err.Error(), selector) {
			t.Errorf("%q: %v", selector, err)
		}
	}
}
