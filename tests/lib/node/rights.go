//go:build linux

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// plugins is Debian's directory of network plugins.
const plugins = "/usr/lib/cni"

// searchPath returns the PATH with the directories of programs for root.
func searchPath() string { return os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin" }

// missing returns an error that names the program or the right that this machine lacks for a node.
func missing(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root")
	}
	if err := os.Setenv("PATH", searchPath()); err != nil {
		return err
	}
	var absent []string
	for program, debian := range map[string]string{"containerd": "containerd", "ctr": "containerd", "runc": "runc",
		"iptables": "iptables", "ip": "iproute2", filepath.Join(plugins, "bridge"): "containernetworking-plugins"} {
		if _, err := exec.LookPath(program); err != nil && !slices.Contains(absent, debian) {
			absent = append(absent, debian)
		}
	}
	if len(absent) > 0 {
		slices.Sort(absent)
		return fmt.Errorf("a program is missing (apt-get install --no-install-recommends %s)", strings.Join(absent, " "))
	}
	err := makeGroups(ownGroup())
	if err = errors.Join(err, removeGroups(ownGroup())); err != nil {
		return fmt.Errorf("a node needs the right to make control groups: %w", err)
	}
	if code, err := enter(ctx, stageProbe); err != nil || code != 0 {
		return errors.Join(errors.New("a node needs the right to namespaces, bridges, firewall rules and overlay mounts"),
			err)
	}
	return nil
}

// probe does in new namespaces what a node does there.
func probe() error {
	if err := setUp(); err != nil {
		return err
	}
	dirs := make([]string, 4)
	for i, name := range []string{"lower", "upper", "work", "merged"} {
		dirs[i] = filepath.Join(root, "probe", name)
		if err := os.MkdirAll(dirs[i], 0o755); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
	}
	if err := unix.Mount("overlay", dirs[3], "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dirs[0],
		dirs[1], dirs[2])); err != nil {
		return fmt.Errorf("mount an overlay: %w", err)
	}
	return commands(
		"ip link add probe0 type veth peer name probe1",
		"ip link set probe0 master "+bridge,
		"iptables -w -t nat -A OUTPUT -m comment --comment probe -d 192.0.2.1 -p tcp -j DNAT --to-destination 192.0.2.2:1",
	)
}

// commands runs command lines without quoting, one after another.
func commands(lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, bytes.TrimSpace(out))
		}
	}
	return nil
}
