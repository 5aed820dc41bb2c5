//go:build !linux

package render

// limitMemory does nothing: only Linux bounds the address space of a process. watchMemory does the rest.
func limitMemory() error { return nil }
