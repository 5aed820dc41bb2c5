// Package lock holds the decisions and the memory of locking: whether a release is locked (Decide), the owner of each
// object (Table), the state of every locked object (Lock), and when an object is fought over (budget).
//
// It is pure: no client, no logging, no context. The controller gathers the input, asks here, and acts.
package lock
