// Package controller gathers the input of the pure packages, calls them, and acts: it locks and unlocks releases,
// reverts drift, and writes status and events. It decides nothing itself.
//
// Two queues hold keys of HelmReleases. The release queue has one worker at a time for a key and locks or unlocks. The
// drift queue hands out locked releases with dirty objects. Its workers take these objects out of the lock. So the work
// is proportional to the drift, and two workers never hold the same object.
package controller
