//go:build linux

package node

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// Unfit is the exit code of a suite on a machine that lacks a right or a program.
const Unfit = 3

const (
	// stageVariable is unset outside of the namespaces.
	stageVariable = "HELM_LOCKER_NODE_STAGE"
	planVariable  = "HELM_LOCKER_NODE_PLAN"
	groupVariable = "HELM_LOCKER_NODE_GROUP"
	// builtVariable is a directory that keeps what was built, for the next run: it saves a minute.
	builtVariable = "HELM_LOCKER_NODE_BUILT"

	stageProbe = "probe"
	stageInit  = "init"
	stageTests = "tests"
)

// Main is for a TestMain: it starts a node, passes it to ready, and runs the tests. The result is the exit code: Unfit
// if this machine cannot run a node. With -short there is no node, and ready is called with nil.
func Main(m interface{ Run() int }, ready func(*Node)) int {
	var err error
	code := 1
	switch stage := os.Getenv(stageVariable); stage {
	case "":
		code, err = outside(m, ready)
	case stageProbe:
		code, err = 0, probe()
	case stageInit:
		code, err = initialize()
	case stageTests:
		code, err = inside(m, ready)
	default:
		err = fmt.Errorf("%s is %q", stageVariable, stage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		return max(code, 1)
	}
	return code
}

func outside(m interface{ Run() int }, ready func(*Node)) (code int, err error) {
	if !flag.Parsed() {
		flag.Parse()
	}
	if testing.Short() {
		ready(nil)
		return m.Run(), nil
	}
	ctx := context.Background()
	if err := missing(ctx); err != nil {
		return Unfit, fmt.Errorf("did not run: %w", err)
	}
	path, release, err := planned(ctx)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := sweepGroups(); err != nil {
		return 1, err
	}
	group := ownGroup()
	if err := makeGroups(group); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, removeGroups(group)) }()
	return enter(ctx, stageInit, planVariable+"="+path, groupVariable+"="+group)
}

// planned builds what a node needs, and returns the file of the plan and a function that removes all of it.
func planned(ctx context.Context) (path string, release func() error, err error) {
	dir := os.Getenv(builtVariable)
	if dir == "" {
		if dir, release, err = cluster.TemporaryDir(os.Stderr); err != nil {
			return "", nil, err
		}
	} else if release = func() error { return nil }; os.MkdirAll(dir, 0o755) != nil {
		return "", nil, fmt.Errorf("%s is no directory", dir)
	}
	path = filepath.Join(dir, "plan.json")
	if _, err := os.Stat(path); err == nil {
		return path, release, nil
	}
	p, err := prepare(ctx, dir)
	if err == nil {
		var content []byte
		if content, err = json.Marshal(p); err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, release())
	}
	return path, release, nil
}

// enter runs this program again as process 1 of new namespaces, and returns its exit code. It is killed when this
// process ends, for whatever reason, and with it all processes of the namespaces.
func enter(ctx context.Context, stage string, env ...string) (int, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	cmd.Env = append(append(os.Environ(), stageVariable+"="+stage, "PATH="+searchPath()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC,
		Pdeathsig: syscall.SIGKILL,
	}
	// The signal at the parent's death is that of the forking thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(failed.ExitCode(), 1), nil
	}
	return 0, err
}

// readPlan returns the plan written outside.
func readPlan() (plan, error) {
	var p plan
	content, err := os.ReadFile(os.Getenv(planVariable))
	if err != nil {
		return p, fmt.Errorf("read the plan: %w", err)
	}
	if err := json.Unmarshal(content, &p); err != nil {
		return p, fmt.Errorf("read the plan: %w", err)
	}
	return p, nil
}

func inside(m interface{ Run() int }, ready func(*Node)) (int, error) {
	p, err := readPlan()
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	n, err := start(ctx, p)
	if err != nil {
		return 1, err
	}
	ready(n)
	code := m.Run()
	return code, n.Cluster.Stop()
}
