package cluster

import "syscall"

// processAttributes gives the program a process group of its own, so that it can be signalled as a whole and a Ctrl-C
// meant for the test does not reach it. A detached program gets a session of its own and outlives its parent.
func processAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
