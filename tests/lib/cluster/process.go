package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// pollInterval is the interval of checks for events without a notification: an open port, a released lock.
const pollInterval = 20 * time.Millisecond

// Process is a running program in a process group of its own.
type Process struct {
	name string
	log  string
	pid  int
	// done is closed after the process was reaped. The fields of its result are set before that and may be read after
	// it.
	done chan struct{}
	how  string
}

// environment returns the environment of a program with its files in home. GOGC is that of the tests (scripts/test).
func environment(home string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	if gc, set := os.LookupEnv("GOGC"); set {
		env = append(env, "GOGC="+gc)
	}
	return env
}

// StartProcess runs a program and appends its output to its log in dir. Unless it is detached, the program is killed
// when this process ends, for whatever reason (on Linux; on other systems only Stop ends it).
func StartProcess(path, name, dir string, detach bool, args ...string) (*Process, error) {
	log := filepath.Join(dir, name+".log")
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	// A proxy or credentials of the surrounding environment have no business in here.
	cmd.Env = environment(dir)
	cmd.SysProcAttr = processAttributes(detach)

	p := &Process{name: name, log: log, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The parent-death signal is tied to the forking thread, not to the process: the goroutine keeps that thread
		// until the child has ended.
		runtime.LockOSThread()
		if err := errors.Join(cmd.Start(), out.Close()); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		err := cmd.Wait()
		p.how = "exit status 0"
		if err != nil {
			p.how = err.Error()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// Kill ends the whole process group at once and returns when the process is reaped. It works on a stopped process.
func (p *Process) Kill() error {
	if p == nil {
		return nil
	}
	err := p.signal(syscall.SIGKILL)
	<-p.done
	return err
}

// signal sends a signal to the process group. An ended process is no error.
func (p *Process) signal(sig syscall.Signal) error {
	if p.ended() {
		return nil // the id may belong to somebody else by now
	}
	if err := syscall.Kill(-p.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s: %w", sig, p.name, err)
	}
	return nil
}

// pause stops the process group, and returns when the program no longer runs.
func (p *Process) pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil || p.ended() {
		return err
	}
	return awaitStopped(p.pid)
}

// ended reports whether the process has ended.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// failure describes a process that ended by itself.
func (p *Process) failure() error {
	return fmt.Errorf("%s ended by itself (%s)\n%s", p.name, p.how, LogTail(p.log))
}

// LogTail returns the end of a log, for an error message.
func LogTail(log string) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("--- end of %s:\n%s", log, tail(content, 4000))
}

// WaitFor polls a condition until it holds, the process ends or ctx does; the last two are errors.
func (p *Process) WaitFor(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		last := condition(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last: %w)\n%s", what, ctx.Err(), last, LogTail(p.log))
		case <-ticker.C:
		}
	}
}

// lockFile takes an exclusive lock against other processes. The lock ends with this process at the latest.
func lockFile(ctx context.Context, path string, log io.Writer) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	ticker := time.NewTicker(10 * pollInterval)
	defer ticker.Stop()
	for told := false; ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if !told {
			told = true
			fmt.Fprintf(log, "waiting for another process that builds (lock %s)\n", path)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", path, ctx.Err()), file.Close())
		case <-ticker.C:
		}
	}
}
