//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// program is a running program of the node. It ends with the namespaces at the latest.
type program struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{} // closed when it has ended; how is set before
	how       error
}

// run starts a program, with its log in the node's directory.
func run(name, path string, args ...string) (*program, error) {
	log := filepath.Join(root, name+".log")
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	p := &program{name: name, log: log, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = root, out, out
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(p.cmd.Start(), out.Close()); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.how = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill ends the program at once.
func (p *program) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// waitFor polls until a condition holds. The end of the program, or of ctx, is an error that quotes the log.
func (p *program) waitFor(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := condition(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %w\n%s", p.name, p.how, tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w (last: %w)\n%s", what, ctx.Err(), last, tail(p.log))
		case <-ticker.C:
		}
	}
}

// tail returns the end of a log.
func tail(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("--- end of %s:\n%s", file, content[max(0, len(content)-6000):])
}
