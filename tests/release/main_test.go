//go:build linux

// Package release makes a release of the working tree, for this machine's architecture, and checks the result: with
// other tools than it was made with, and by running it.
package release

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

var (
	// shared is the control plane of this package; nil with -short.
	shared *cluster.Cluster
	// dist is the directory of the release; version, commit and date are its inputs.
	dist, version, commit, date string
	// key is the private key of the release's signature.
	key *ecdsa.PrivateKey
)

const root = "../.."

// Names of the binaries in a release: the programs of the image, and the commands.
const (
	program       = "helm-locker-operator-linux-" + runtime.GOARCH
	notifications = "helm-locker-notifications-linux-" + runtime.GOARCH
	commands      = "helm-locker-linux-" + runtime.GOARCH
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "helm-locker-release-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	dist = filepath.Join(dir, "dist")
	return cluster.Main(m, cluster.Options{}, func(c *cluster.Cluster) {
		if shared = c; c == nil {
			return
		}
		if err := makeRelease(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			dist = ""
		}
	})
}

// makeRelease runs scripts/release and records its inputs.
func makeRelease() error {
	for variable, target := range map[string]*string{"VERSION": &version, "COMMIT": &commit, "DATE": &date} {
		value, err := shell(context.Background(), root, nil, `eval "$(scripts/version)"; echo "$`+variable+`"`)
		if err != nil {
			return err
		}
		*target = strings.TrimSpace(value)
	}
	file := filepath.Join(filepath.Dir(dist), "release.key")
	var err error
	if key, err = newKey(file); err != nil {
		return err
	}
	env := []string{"DIST=" + dist, "PLATFORMS=linux/" + runtime.GOARCH, "RELEASE_KEY=" + file}
	_, err = shell(context.Background(), root, env, "scripts/release --dry-run")
	return err
}

// need skips a test without a release, with -short, and fails one whose release could not be made.
func need(t *testing.T) {
	t.Helper()
	if shared == nil {
		t.Skip("needs a release, and a control plane")
	}
	check.Must(t, dist != "", "the release could not be made; the reason is above")
}

// shell runs a line in a directory and returns its output; a failure is an error that quotes all of its output.
func shell(ctx context.Context, dir string, env []string, line string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", line, err, out, stderr.String())
	}
	return string(out), nil
}

// read returns a file of the release.
func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dist, name))
	check.NoError(t, err)
	return content
}
