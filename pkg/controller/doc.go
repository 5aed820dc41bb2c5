// Package controller gathers what the pure packages need, asks them, and acts: it locks and unlocks releases, has drift
// reverted, and writes status and events. It decides nothing itself.
//
// Two queues hold keys of HelmReleases. The release queue has one worker at a time for a key and locks or unlocks. The
// drift queue hands out what needs a look in a locked release; its workers take the dirty objects out of the lock, so
// that the work follows what drifted and two workers never hold the same object.
package controller
