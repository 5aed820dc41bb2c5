// Package enforce reverts objects to what Helm left. It is the only package that writes to the objects of a release.
//
// Every write keeps the order that proves that no write of Helm's is undone: the object was observed, then the newest
// record of the release was read from the API server and found to be the locked one, then the write goes out with the
// observed resourceVersion as its precondition. An object that was deleted has no resourceVersion: after its
// creation the record is read once more, and if it changed meanwhile the object is taken back.
package enforce
