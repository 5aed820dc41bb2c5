package cluster

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes gives the program its own process group: signals reach the group as a whole, and a Ctrl-C meant
// for the test does not reach it. A detached program gets its own session and outlives its parent.
func processAttributes(detach bool) *syscall.SysProcAttr {
	if detach {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStopped returns when every thread of a child has stopped after a SIGSTOP, or the child has ended. Sending the
// signal does not wait for that: on a busy machine a thread of the API server answers requests for milliseconds more.
// WNOWAIT leaves the child's state for the next reader and for the reaper.
func awaitStopped(pid int) error {
	for {
		switch err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil); {
		case err == nil, errors.Is(err, unix.ECHILD): // ECHILD: it has ended, and was reaped
			return nil
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait until process %d has stopped: %w", pid, err)
		}
	}
}
