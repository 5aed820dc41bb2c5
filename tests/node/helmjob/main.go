// Command helmjob is the program of the Jobs of k3s' helm-controller in tests/node. It takes the arguments, environment
// and volumes of the image klipper-helm from that controller, and runs Helm.
//
//	helmjob install [FLAGS OF HELM]   installs the release, upgrades it, or installs a failed or interrupted one again
//	helmjob delete                    uninstalls the release, if there is one
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// helm is the program beside this one. Its name is Helm's field manager.
	helm = "/helm"
	// home has a writable directory for each of Helm's.
	home = "/home/klipper-helm"
	// hashLabel is the label of a record with the hash of the HelmChart. The controller compares it.
	hashLabel = "helmcharts.helm.cattle.io/configHash"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "install" && args[0] != "delete" {
		return fmt.Errorf("unknown arguments %q", args)
	}
	last, err := newest(ctx)
	if err != nil {
		return err
	}
	if args[0] == "install" {
		return install(ctx, last, args[1:])
	}
	if last == nil {
		return nil
	}
	return uninstall(ctx)
}

// revision is one of the release.
type revision struct {
	Revision int    `json:"revision"`
	Status   string `json:"status"`
}

// newest returns the newest revision of the release, and nil without one.
func newest(ctx context.Context) (*revision, error) {
	out, failure, err := output(ctx, "history", os.Getenv("NAME"), "--namespace", os.Getenv("TARGET_NAMESPACE"),
		"--max", "1", "--output", "json")
	if err != nil {
		if strings.Contains(failure, "release: not found") {
			return nil, nil
		}
		return nil, fmt.Errorf("look for the release: %w: %s", err, failure)
	}
	var all []revision
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
		return nil, fmt.Errorf("the newest revision is %q (%w)", out, err)
	}
	return &all[0], nil
}

// install installs, upgrades, or installs again, by the state of the newest revision.
func install(ctx context.Context, last *revision, flags []string) error {
	switch {
	case last == nil:
		return deploy(ctx, "install", flags)
	case last.Status == "deployed" && fmt.Sprint(last.Revision) != os.Getenv("EXPECTED_RELEASE_REVISION"):
		// By an earlier try of this Job, or by somebody else: the controller compares the label.
		return nil
	case last.Status == "deployed":
		return deploy(ctx, "upgrade", flags)
	case os.Getenv("FAILURE_POLICY") != "reinstall":
		return fmt.Errorf("revision %d is %s: only the policy reinstall is known here", last.Revision, last.Status)
	}
	if err := uninstall(ctx); err != nil {
		return err
	}
	return deploy(ctx, "install", flags)
}

func deploy(ctx context.Context, command string, flags []string) error {
	chart, err := chart()
	if err != nil {
		return err
	}
	values, err := filepath.Glob("/config/values-*.yaml")
	if err != nil {
		return err
	}
	slices.Sort(values)
	args := append([]string{command}, flags...)
	if hash := os.Getenv("CONFIG_HASH"); hash != "" {
		args = append(args, "--labels", hashLabel+"="+hash)
	}
	if side := os.Getenv("SERVER_SIDE"); side != "" && side != "auto" { // Helm 3 has no such flag
		args = append(args, "--server-side="+side)
	}
	if os.Getenv("FORCE_CONFLICTS") == "true" {
		args = append(args, "--force-conflicts")
	}
	for _, file := range values {
		args = append(args, "--values", file)
	}
	return inNamespace(ctx, append(args, os.Getenv("NAME"), chart)...)
}

// chart returns the path of the HelmChart's content, or else the chart's name.
func chart() (string, error) {
	file := os.Getenv("NAME") + ".tgz"
	encoded, err := os.ReadFile(filepath.Join("/chart", file+".base64"))
	if os.IsNotExist(err) {
		return os.Getenv("CHART"), nil
	} else if err != nil {
		return "", err
	}
	content, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(encoded)))
	if err != nil {
		return "", fmt.Errorf("decode the chart: %w", err)
	}
	path := filepath.Join(os.TempDir(), file)
	return path, os.WriteFile(path, content, 0o600)
}

func uninstall(ctx context.Context) error {
	return inNamespace(ctx, "uninstall", os.Getenv("NAME"))
}

// inNamespace runs a command of Helm on the release.
func inNamespace(ctx context.Context, args ...string) error {
	args = append(args, "--namespace", os.Getenv("TARGET_NAMESPACE"))
	if timeout := os.Getenv("TIMEOUT"); timeout != "" {
		args = append(args, "--timeout", timeout)
	}
	out, failure, err := output(ctx, args...)
	fmt.Printf("helm %s\n%s%s", strings.Join(args, " "), out, failure)
	return err
}

// output runs Helm, and returns its output and its error output.
func output(ctx context.Context, args ...string) (out []byte, failure string, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, helm, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	return stdout.Bytes(), stderr.String(), err
}
