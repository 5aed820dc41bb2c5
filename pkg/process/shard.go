package process

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	leases "github.com/rancher/helm-locker/pkg/lease"
)

// ShardOf parses a shard selector, and returns the name of the lease of the shard's replicas. The shard is nil where
// one operator manages everything.
func ShardOf(controllerName, selector string) (shard labels.Selector, lease string, err error) {
	shard, err = labels.Parse(selector)
	if err != nil {
		return nil, "", fmt.Errorf(
			"shard selector %q: %w; write it as for kubectl --selector, for example shard=a, or shard notin (a,b)",
			selector, err,
		)
	}
	lease = leases.Name(controllerName, shard)
	if shard.Empty() {
		return nil, lease, nil
	}
	return shard, lease, nil
}
