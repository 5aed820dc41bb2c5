// Command soak runs an operator under every kind of load and failure at once, on its own control plane:
//
//	go run ./tests/soak                        # half an hour; exit code 1 after a failure
//	go run ./tests/soak -duration 2m -seed 7   # shorter, with the random choices of an earlier run
//
// Helm 3 and 4 upgrade, roll back, uninstall and re-install releases; a tamperer changes their objects in every way;
// and failures follow each other: conflicts, errors, slow and lost answers, broken and expired watches, an API server
// that restarts or hangs, an operator that is killed. All failures except those of the API server affect the operator
// only: its requests go through a proxy.
//
// A run has rounds. At the end of each one, load and failures stop, and the run proves that
//
//   - every object equals its release's manifest, and no other object carries the release's name, except for objects
//     left behind by Helm;
//   - nothing is written any more;
//   - neither goroutines nor memory of a process have grown since an earlier such point;
//   - none of the promises that the oracle knows was broken at any time, such as "never revert Helm" (I1).
//
// An error about an object includes the audit log of all writes to it and to the records of its release. Every wait
// has a timeout; its error names the missing condition.
package main
