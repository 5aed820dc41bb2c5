package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// indexVariable has the URL of setup-envtest's index, by https or on a loopback address. The default is its own, and
// off fetches nothing.
const (
	indexVariable = "HELM_LOCKER_ENVTEST_INDEX"
	noIndex       = "off"
)

const (
	// serverPatience is how long a server may be silent.
	serverPatience = 5 * time.Second
	// fetchTakes is how long the archive may take: less than building it.
	fetchTakes = 3 * time.Minute
)

// releases returns the directory with a directory for each fetched release. Built programs never get into it.
func (b builder) releases() string { return b.dir + ".fetched" }

// fetched returns the path and the version of a fetched program of the wanted minor version, or "".
func (b builder) fetched(ctx context.Context, p program, want string) (path, got string) {
	entries, err := os.ReadDir(b.releases())
	if err != nil || !b.demo {
		return "", ""
	}
	for _, release := range slices.Backward(entries) {
		path := filepath.Join(b.releases(), release.Name(), p.name)
		got, err := versionOf(ctx, path, p.name)
		if err == nil && strings.HasPrefix(got, minorOf(want)+".") {
			return path, got
		}
	}
	return "", ""
}

// minorOf returns "v1.36" of "v1.36.3".
func minorOf(version string) string { return version[:strings.LastIndex(version, ".")] }

// spared returns the programs to build: without the controller manager if the API server was fetched.
func (b builder) spared(missing []program) []program {
	manager := slices.IndexFunc(missing, func(p program) bool { return p.name == "kube-controller-manager" })
	if manager < 0 || !strings.HasPrefix(b.bins.APIServer, b.releases()+string(filepath.Separator)) {
		return missing
	}
	b.bins.ControllerManager = ""
	return slices.Delete(missing, manager, manager+1)
}

// withoutFetched fetches prebuilt programs for the demo if the API server is missing, and returns the programs to
// build. It logs the result in a line, with the reason for building.
func (b builder) withoutFetched(ctx context.Context, missing []program) []program {
	server := slices.IndexFunc(missing, func(p program) bool { return p.name == "kube-apiserver" })
	if server < 0 || !b.demo {
		return missing
	}
	err := b.fetch(ctx, missing[server])
	if err == nil {
		left := b.withoutFound(ctx, b.log, slices.Clone(missing))
		if len(left) < len(missing) {
			return left
		}
		err = errors.New("the archive has none in the version wanted")
	}
	// The reason quotes a server: only text of it may reach a terminal.
	reason := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, err.Error())
	fmt.Fprintf(b.log, "building kube-apiserver, because no prebuilt one was fetched: %.500s\n", reason)
	return missing
}

// fetch downloads the release of an API server. Its program, tools/envtest, checks the sum. The release appears
// complete or not at all.
func (b builder) fetch(ctx context.Context, server program) (err error) {
	index := os.Getenv(indexVariable)
	if index == noIndex {
		return errors.New(indexVariable + " is " + noIndex)
	}
	want, err := b.required(server)
	if err != nil {
		return err
	}
	want = minorOf(want) + ".x"
	work := b.dir + ".fetching"
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700)); err != nil {
		return fmt.Errorf("make a directory to fetch into: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	tool, err := b.buildTool(ctx, work)
	if err != nil {
		return err
	}
	args := []string{tool, "-patience", b.patience.String()}
	if index != "" {
		args = append(args, "-index", index)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTakes)
	defer cancel()
	cmd := inModule(ctx, work, append(args, work, strings.TrimPrefix(want, "v"))...)
	cmd.Env = append(cmd.Env, "TMPDIR="+work) // what a killed fetch leaves is removed
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("setup-envtest for %s: %s (%w)", want, strings.TrimSpace(stderr.String()), err)
	}
	release := string(out)
	// Setup-envtest leaves it read-only, and such a directory cannot be moved.
	if err := os.Chmod(release, 0o755); err != nil {
		return fmt.Errorf("unlock what was fetched: %w", err)
	}
	target := filepath.Join(b.releases(), filepath.Base(release))
	if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.RemoveAll(target),
		os.Rename(release, target)); err != nil {
		return fmt.Errorf("put what was fetched in place: %w", err)
	}
	fmt.Fprintf(b.log, "fetched %s, prebuilt, by setup-envtest, in place of building it; its sum is the index's\n",
		filepath.Base(release))
	return nil
}

// buildTool builds tools/envtest into a directory and returns its path.
func (b builder) buildTool(ctx context.Context, dir string) (string, error) {
	module := filepath.Join(b.source, "..", "..", "tools", "envtest")
	// The modules first, and not for long: without a module proxy, other programs may have their modules already.
	limited, cancel := context.WithTimeout(ctx, b.modulesTake)
	defer cancel()
	if out, err := inModule(limited, module, "go", "list", "-mod=readonly", "-deps", ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("get the modules of setup-envtest: %w\n%s", err, out)
	}
	tool := filepath.Join(dir, "envtest")
	if out, err := inModule(ctx, module, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w", "-o", tool, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build setup-envtest: %w\n%s", err, out)
	}
	return tool, nil
}
