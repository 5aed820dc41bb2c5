// Command soak has an operator live through everything at once, on a control plane of its own:
//
//	go run ./tests/soak                        # half an hour; exit code 1 when something is wrong
//	go run ./tests/soak -duration 2m -seed 7   # shorter, with the random choices of an earlier run
//
// Helm 3 and 4 upgrade, roll back, uninstall and re-install releases; somebody tampers with their objects in every
// way; and one failure follows the other: conflicts, errors, slow and lost answers, broken and expired watches, an
// API server that restarts or hangs, an operator that is killed. All failures but those of the API server hit the
// operator only: it talks through a proxy.
//
// A run has rounds. After each one all of that ends, and it is proved that
//
//   - every object equals its release's manifest, and nothing else carries the release's name
//     but what Helm left behind;
//   - nothing is written any more;
//   - neither goroutines nor memory of a process have grown from one such point to the next;
//   - no write of Helm's was reverted at any time, by the histories of all objects.
//
// What is wrong about an object is told with all that was done to it and to the records of its release, by the
// audit log. Every wait has a bound, and says what it waited for when that is reached.
package main
