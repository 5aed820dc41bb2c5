// Command bench measures the operator against the least that any reactor could do, on a control plane of its own:
//
//	go run ./tests/bench               # a table; exit code 1 when a target is missed
//	go run ./tests/bench -short        # the same with small numbers, in about a minute
//	go run ./tests/bench -objects 5000 -releases 200 -json result.json
//
// The floor is a watch that patches straight back, in this process, with objects of its own. Floor and operator take turns
// within one run, so that what else the machine does falls on both, and the ratio says more than either figure. The
// operator is the real program in a process of its own. What is restored is seen by an observer, which has its own watch;
// requests are counted in the API server's audit log; memory and processor time come from /proc.
package main
