// Package callgraph walks the calls of the operator's program, and checks that every write to an object of a release
// goes through the kernel.
package callgraph
