package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const prompt = "$ "

// terminal is a tmux with one window, on a socket of its own.
type terminal struct {
	socket string
	env    []string
}

func newTerminal(ctx context.Context, dir string, env []string, columns, rows int) (*terminal, error) {
	t := &terminal{socket: filepath.Join(dir, "tmux"), env: append(slices.Clone(env), "TERM=xterm-256color")}
	rc := filepath.Join(dir, "bashrc")
	if err := os.WriteFile(rc, []byte("PS1='"+prompt+"'\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write bashrc: %w", err)
	}
	_, err := t.tmux(ctx, "-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(columns), "-y",
		strconv.Itoa(rows), "bash --noprofile --rcfile "+rc)
	if err != nil {
		return nil, err
	}
	if _, err := t.until(ctx, strings.TrimSpace(prompt)); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *terminal) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", t.socket}, args...)...)
	cmd.Env = t.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// enter types a line.
func (t *terminal) enter(ctx context.Context, line string) error {
	if _, err := t.tmux(ctx, "send-keys", "-l", line); err != nil {
		return err
	}
	_, err := t.tmux(ctx, "send-keys", "Enter")
	return err
}

// until waits until a text is on the screen, and returns the screen with its escape sequences.
func (t *terminal) until(ctx context.Context, text string) (string, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		screen, err := t.tmux(ctx, "capture-pane", "-e", "-p")
		if err != nil {
			return "", err
		}
		if strings.Contains(plain(screen), text) {
			return screen, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%q did not appear: %w; the screen is\n%s", text, ctx.Err(), plain(screen))
		case <-tick.C:
		}
	}
}

// close ends tmux and its programs.
func (t *terminal) close() error {
	_, err := t.tmux(context.Background(), "kill-server")
	return err
}
