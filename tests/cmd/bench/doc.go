// Command bench measures the operator against the least that any reactor could do, on a control plane of its own:
//
//	go run ./tests/cmd/bench                        # a table; exit code 1 when a target is missed
//	go run ./tests/cmd/bench -quick                 # the same with small numbers, in about two minutes
//	go run ./tests/cmd/bench -only storm,scale      # some sections of it
//	go run ./tests/cmd/bench -docs docs             # documents the result, as make bench does
//
// The floor is a watch that patches straight back, in this process, with objects of its own. Floor and operator
// take turns within one run, so that what else the machine does falls on both, and the ratio says more than either
// figure. The operator is the real program in a process of its own. What is restored is seen by an observer, which
// has its own watch; requests are counted in the API server's audit log; memory and processor time come from /proc.
//
// Every stage of a run has a new control plane (see stages), so sections do not burden each other, and any of them
// can be run alone.
package main
