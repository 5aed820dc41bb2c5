// Package controller connects the watches of the operator with its workers.
//
// Each worker is a package with a queue of keys: pkg/locking begins and ends locks, pkg/remediate reverts drift,
// pkg/proving proves the writes, pkg/prune deletes leftovers, and pkg/reporting writes the statuses. A worker gathers
// the input of a pure package, and carries out the decision. The queue of drift has locked releases with dirty objects,
// which its worker takes out of the lock: so the work is proportional to the drift, and no two goroutines hold the same
// object.
package controller
