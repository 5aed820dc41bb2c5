// Package lease has the names of the Leases of operators, and of the annotations by which a leader announces its stream
// of events. It is pure.
package lease

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/labels"
)

// Name returns the name of an operator's Lease from its controller name and its shard. The shard is empty for an
// operator without shards. Shards do not exclude each other. Equal selectors in different notations have the same
// Lease.
func Name(controller string, shard labels.Selector) string {
	if shard == nil || shard.Empty() {
		return controller
	}
	// The selector itself has characters that are invalid in a name.
	sum := sha256.Sum256([]byte(shard.String()))
	return controller + "-" + hex.EncodeToString(sum[:4])
}
