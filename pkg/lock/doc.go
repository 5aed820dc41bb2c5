// Package lock holds the decisions and the memory of locking: whether a release is locked (Decide), which lock owns
// which object (Table), what is known of every locked object (Lock), and when an object is fought over (budget).
//
// It is pure: no client, no logging, no context. The controller gathers what it needs, asks here, and acts.
package lock
