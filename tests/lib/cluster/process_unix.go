//go:build unix && !linux

package cluster

import "syscall"

// processAttributes gives the program a process group, or when detached a session, of its own. These systems have no
// signal for the death of a parent: a killed test leaves the programs behind.
func processAttributes(detach bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: !detach, Setsid: detach}
}

// awaitStopped does nothing: these systems have no way to wait for a stopped child and leave its end to be reaped.
func awaitStopped(int) error { return nil }
