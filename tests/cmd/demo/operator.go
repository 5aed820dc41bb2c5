package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stopPatience is how long the operator may take to end after a SIGTERM.
const stopPatience = 15 * time.Second

// operator is the helm-locker program, which can be started again after it was stopped.
type operator struct {
	bin        string
	kubeconfig string
	log        string

	cmd   *exec.Cmd
	ended chan error // receives how it ended
}

// buildOperator builds helm-locker into dir.
func buildOperator(ctx context.Context, repository, dir string) (string, error) {
	bin := filepath.Join(dir, "helm-locker")
	cmd := exec.CommandContext(ctx, filepath.Join("scripts", "build"), bin)
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build helm-locker: %w\n%s", err, out)
	}
	return bin, nil
}

// args are the flags that the operator is started with. It serves no metrics and no health checks, so that demos can
// run side by side.
func (o *operator) args() []string {
	return []string{"--kubeconfig", o.kubeconfig, "--metrics-address", "0", "--health-address", "0"}
}

// start starts the program, with its log appended to the log file.
func (o *operator) start() error {
	log, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the operator's log: %w", err)
	}
	cmd := exec.Command(o.bin, o.args()...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	// A Ctrl-C is for the demo, which stops the operator in an orderly way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return fmt.Errorf("start helm-locker: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	o.cmd, o.ended = cmd, ended
	return nil
}

// stop asks the program to end, by SIGTERM, and waits until it has; any other end than exit code 0 is an error. It does
// nothing when the program does not run.
func (o *operator) stop() error {
	if o.cmd == nil {
		return nil
	}
	cmd := o.cmd
	o.cmd = nil
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop helm-locker: %w", err)
	}
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case err := <-o.ended:
		if err != nil {
			return fmt.Errorf("helm-locker ended with %w", err)
		}
		return nil
	case <-patience.C:
		return errors.Join(fmt.Errorf("helm-locker did not end within %s of a SIGTERM", stopPatience),
			cmd.Process.Kill())
	}
}

// logTail returns the last lines of the log.
func (o *operator) logTail() string {
	content, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(content), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "")
}
