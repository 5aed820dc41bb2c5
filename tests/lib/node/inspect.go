//go:build linux

package node

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
	"syscall"
)

// Process is what the kernel knows of the process of a container.
type Process struct {
	UID, GID, Capabilities, NoNewPrivileges, Seccomp string
	ReadOnlyRoot                                     bool
}

// PID returns the id of the first process of a container, which is named as in the status of a Pod.
func (n *Node) PID(ctx context.Context, container string) (int, error) {
	_, id, _ := strings.Cut(container, "://")
	out, err := exec.CommandContext(ctx, "ctr", "--address", socket, "--namespace", "k8s.io", "tasks", "list").Output()
	if err != nil {
		return 0, fmt.Errorf("list the containers: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && id != "" && fields[0] == id {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("no container %q runs", container)
}

// Kill sends SIGKILL to the first process of a container.
func (n *Node) Kill(ctx context.Context, container string) error {
	pid, err := n.PID(ctx, container)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// Inspect returns what the kernel knows of the first process of a container.
func (n *Node) Inspect(ctx context.Context, container string) (Process, error) {
	var p Process
	pid, err := n.PID(ctx, container)
	if err != nil {
		return p, err
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	mounts, mountsErr := os.ReadFile(filepath.Join(dir, "mounts"))
	if err = errors.Join(err, mountsErr); err != nil {
		return p, fmt.Errorf("inspect a process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		into := map[string]*string{"Uid": &p.UID, "Gid": &p.GID, "CapBnd": &p.Capabilities,
			"NoNewPrivs": &p.NoNewPrivileges, "Seccomp": &p.Seccomp}[name]
		if into != nil && len(fields) > 0 {
			*into = fields[0]
		}
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[1] == "/" {
			p.ReadOnlyRoot = slices.Contains(strings.Split(fields[3], ","), "ro")
		}
	}
	return p, nil
}
