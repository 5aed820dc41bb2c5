// Package enforce reverts objects to the state that Helm left. It is the only package that writes to the objects of a
// release.
//
// The order of every write proves that it undoes no write of Helm's. The object is observed first. Then the newest
// record of the release is read from the API server, and must be the locked one. Then the write is sent with the
// observed resourceVersion as its precondition. A deleted object has no resourceVersion: after its creation the record
// is read once more, and if it has changed the object is taken back.
package enforce
