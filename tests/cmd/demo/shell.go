package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// shell runs commands as the administrator of the cluster and shows them.
type shell struct {
	screen *screen
	// programs maps displayed names (kubectl, helm3, helm4) to paths.
	programs map[string]string
	// dir is the top of the repository: paths in commands are relative to it.
	dir string
	env []string
}

func newShell(s *screen, c *cluster.Cluster, repository, home string) *shell {
	b := c.Binaries()
	return &shell{
		screen: s, dir: repository,
		programs: map[string]string{"kubectl": b.Kubectl, "helm3": b.Helm3, "helm4": b.Helm4},
		// Nothing of the user's set-up is seen or written to.
		env: cluster.Helm{Kubeconfig: c.Kubeconfig()}.Environment(home),
	}
}

// secret is hidden in commands.
const secret = "hunter2"

// show displays a command, runs it and returns its output.
func (s *shell) show(ctx context.Context, args ...string) (string, error) {
	s.screen.command(strings.ReplaceAll(commandLine(args), secret, "****"))
	return s.run(ctx, args...)
}

// run runs a command and returns its output. An error quotes the command's standard error.
func (s *shell) run(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.programs[args[0]], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// commandLine returns arguments as one would type them.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if strings.ContainsAny(arg, " \"{}[]*$") {
			quoted[i] = "'" + arg + "'"
		}
	}
	return strings.Join(quoted, " ")
}
