// Command bench measures the operator against the least work of any reactor, on its own control plane:
//
//	go run ./tests/cmd/bench                        # a table; exit code 1 when a target is missed
//	go run ./tests/cmd/bench -quick                 # the same with small numbers, in about two minutes
//	go run ./tests/cmd/bench -only storm,scale      # some sections of it
//	go run ./tests/cmd/bench -docs docs             # documents the result, as make bench does
//
// The floor is a watch in this process that patches its own objects straight back. Floor and operator take turns
// within one run: other load of the machine falls on both, and the ratio is more meaningful than either figure. The
// operator is the real program in a separate process. An observer with its own watch sees the restored objects; the
// API server's audit log counts the requests; memory and processor time are read from /proc.
//
// Every stage of a run has a new control plane (see stages): sections of different stages do not influence each
// other, and each can be run alone.
package main
