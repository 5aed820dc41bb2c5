package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// instructions prints the next command line for the user, which puts all programs in the PATH.
func instructions(out io.Writer, root, dir string, binaries cluster.Binaries) error {
	env, err := writeShell(root, dir, binaries)
	if err != nil {
		return fmt.Errorf("write what a shell reads: %w", err)
	}
	_, err = fmt.Fprintf(out, `A control plane is running (API server, etcd, controllers; no nodes). In a shell that is to use it:

  source %s

Then kubectl, helm (Helm 4; also as helm4), helm3 and helm-locker mean this cluster.
To stop it:  make cluster-down
`, env)
	return err
}

// writeShell writes a directory of programs, and a file for a shell to source, and returns the file.
func writeShell(root, dir string, binaries cluster.Binaries) (string, error) {
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	locker := filepath.Join(root, "bin", "helm-locker")
	for name, path := range map[string]string{
		"kubectl": binaries.Kubectl, "helm-locker": locker, "kubectl-helm_locker": locker,
	} {
		link := filepath.Join(bin, name)
		if err := errors.Join(os.RemoveAll(link), os.Symlink(path, link)); err != nil {
			return "", err
		}
	}
	for name, path := range map[string]string{"helm": binaries.Helm4, "helm3": binaries.Helm3, "helm4": binaries.Helm4} {
		// No links: Helm takes its field manager from its file name.
		script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", path)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			return "", err
		}
	}
	env := filepath.Join(dir, "env")
	return env, os.WriteFile(env, fmt.Appendf(nil, `export KUBECONFIG=%q PATH=%q:"$PATH"
if [ -n "$BASH_VERSION$ZSH_VERSION" ]; then
	for program in kubectl helm helm-locker; do
		eval "$("$program" completion "$([ -n "$ZSH_VERSION" ] && echo zsh || echo bash)")"
	done
fi
`, filepath.Join(dir, "kubeconfig"), bin), 0o600)
}
