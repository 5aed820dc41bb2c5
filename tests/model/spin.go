package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed *.pml
var models embed.FS

// Limits of one run. The largest takes some 1.2 GB and half a minute on an idle core.
const (
	memoryLimit = "4000" // MB
	depthLimit  = "200000"
)

// tools are the programs needed for a run.
type tools struct{ spin, cc string }

// errNoTools follows the name of a missing program.
var errNoTools = errors.New("not installed (Debian packages spin and gcc)")

func findTools() (tools, error) {
	var t tools
	for name, path := range map[string]*string{"spin": &t.spin, "gcc": &t.cc} {
		found, err := exec.LookPath(name)
		if err != nil {
			return t, fmt.Errorf("%s: %w", name, errNoTools)
		}
		*path = found
	}
	return t, nil
}

// result is the result of a run.
type result struct {
	// failed is the failed assertion, as printed by the checker; empty when all was searched and none failed.
	failed string
	states int
	took   time.Duration
	// trail are the steps to the violation, if requested.
	trail string
}

// found names the failed assertion.
func (r result) found() string {
	if r.failed == "" {
		return holds
	}
	for _, a := range assertions {
		if strings.Contains(r.failed, a.text) {
			return a.name
		}
	}
	return r.failed
}

var (
	stored    = regexp.MustCompile(`(?m)^ *(\d+) states, stored`)
	violation = regexp.MustCompile(`(?m)^pan:\d+: (.*) \(at depth \d+\)`)
	noErrors  = regexp.MustCompile(`(?m)errors: 0$`)
	// States beyond the limit of the depth are left out, but errors are counted nevertheless.
	cutShort = regexp.MustCompile(`Search not completed|max search depth too small`)
)

// complete reports whether a search without a violation has visited all states.
func complete(out []byte) bool { return noErrors.Match(out) && !cutShort.Match(out) }

// run has SPIN make a checker of one variant, builds it, and lets it search all states.
func (t tools) run(ctx context.Context, v variant, trail bool) (r result, err error) {
	dir, err := os.MkdirTemp("", "helm-locker-model-")
	if err != nil {
		return r, fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	text, err := models.ReadFile(v.model)
	if err != nil {
		return r, fmt.Errorf("read the model: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, v.model), text, 0o600); err != nil {
		return r, fmt.Errorf("write the model: %w", err)
	}
	var options []string
	for _, d := range v.defines {
		options = append(options, "-D"+d)
	}
	if _, err := execute(ctx, dir, t.spin, append(options, "-a", v.model)...); err != nil {
		return r, err
	}
	if _, err := execute(ctx, dir, t.cc, v.optimisation(), "-DSAFETY", "-DMEMLIM="+
		memoryLimit, "-o", "pan", "pan.c"); err != nil {
		return r, err
	}
	begun := time.Now()
	out, err := execute(ctx, dir, filepath.Join(dir, "pan"), "-m"+depthLimit)
	if err != nil {
		return r, err
	}
	r.took = time.Since(begun)
	if m := stored.FindSubmatch(out); m != nil {
		if r.states, err = strconv.Atoi(string(m[1])); err != nil {
			return r, fmt.Errorf("number of states: %w", err)
		}
	}
	if m := violation.FindSubmatch(out); m != nil {
		r.failed = string(m[1])
	}
	switch {
	case r.failed == "" && !complete(out):
		return r, fmt.Errorf("the search was not completed:\n%s", out)
	case trail && r.failed != "":
		steps, err := execute(ctx, dir, t.spin, append(options, "-t", "-p", "-g", v.model)...)
		if err != nil {
			return r, err
		}
		r.trail = string(steps)
	}
	return r, nil
}

func execute(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return out, nil
}
