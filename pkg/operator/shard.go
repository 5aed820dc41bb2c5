package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// LeaseName returns the name of the Lease that the replicas of an operator compete for: of a controller name, and of a
// shard selector, which is empty where one operator manages everything. The error is about the selector.
func LeaseName(controllerName, selector string) (string, error) {
	_, lease, err := shardOf(controllerName, selector)
	return lease, err
}

// shardOf parses a shard selector, and returns the name of the lease that the replicas of the shard compete for:
// shards do not exclude each other. Both are nil and the controller's name, as ever, where one operator manages
// everything. However a selector is written, the same one gives the same lease.
func shardOf(controllerName, selector string) (shard labels.Selector, lease string, err error) {
	shard, err = labels.Parse(selector)
	if err != nil {
		return nil, "", fmt.Errorf(
			"shard selector %q: %w; write it as for kubectl --selector, for example shard=a, or shard notin (a,b)",
			selector, err,
		)
	}
	if shard.Empty() {
		return nil, controllerName, nil
	}
	// The selector itself has characters that no name may have.
	sum := sha256.Sum256([]byte(shard.String()))
	return shard, controllerName + "-" + hex.EncodeToString(sum[:4]), nil
}
