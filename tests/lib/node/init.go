//go:build linux

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// root is the directory of the node's files, in memory.
	root = "/run/node"
	// bridge is the network of the Pods, and pods are its addresses.
	bridge = "cni0"
	pods   = "10.100.0.0/16"
	// Address is the address of the node and of the API server in the network of the Pods.
	Address = "10.100.0.1"
	// Name is the name of the node.
	Name = "node-1"
)

// tunables are the settings of the machine that a kubelet changes. They have no namespace: the kubelet of a test finds
// files in their place.
var tunables = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// setUp gives the namespaces their mounts and their network.
func setUp() error {
	if err := unix.Sethostname([]byte(Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := mounts(); err != nil {
		return err
	}
	return commands(
		"ip link set lo up",
		"ip link add "+bridge+" type bridge",
		"ip address add "+Address+"/16 dev "+bridge,
		"ip link set "+bridge+" up",
		// Without a route for it, an address of a Service reaches no firewall rule.
		"ip route add default dev "+bridge,
	)
}

func mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts apart: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	for _, dir := range []string{"tmp", "tunables", "cni"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
	}
	for name, value := range tunables {
		file := filepath.Join(root, "tunables", filepath.Base(name))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return fmt.Errorf("write a tunable: %w", err)
		}
		if err := unix.Mount(file, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount over %s: %w", name, err)
		}
	}
	return errors.Join(overlay("/var/lib"), overlay("/var/log"))
}

// overlay has writes below a directory go to memory.
func overlay(dir string) error {
	upper, work := filepath.Join(root, dir, "upper"), filepath.Join(root, dir, "work")
	for _, d := range []string{upper, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work)
	if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount over %s: %w", dir, err)
	}
	return nil
}

// initialize is process 1 of the namespaces: it runs the tests, reaps every process, and returns the tests' exit code.
func initialize() (int, error) {
	if err := setUp(); err != nil {
		return 1, err
	}
	err := errors.Join(os.Setenv(stageVariable, stageTests), os.Setenv("TMPDIR", filepath.Join(root, "tmp")))
	if err != nil {
		return 1, err
	}
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 1, fmt.Errorf("start the tests: %w", err)
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, fmt.Errorf("wait for the tests: %w", err)
		case ended == pid && status.Exited():
			return status.ExitStatus(), nil
		case ended == pid:
			return 1, fmt.Errorf("the tests were ended by %s", status.Signal())
		}
	}
}
