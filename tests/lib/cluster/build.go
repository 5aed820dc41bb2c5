package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Binaries holds the absolute paths of the programs of a control plane and of the clients used with it.
type Binaries struct {
	Etcd              string
	APIServer         string
	ControllerManager string
	Kubectl           string
	Helm3             string
	Helm4             string
	// These are empty but for BuildNode.
	Kubelet   string
	Proxy     string
	Scheduler string
	// These are empty but for BuildNeighbour.
	Rollouts       string
	KEDA           string
	CAInjector     string
	CertManager    string
	Helmfile       string
	VPAUpdater     string
	VPAAdmission   string
	VPARecommender string
	Metrics        string
	HelmController string
}

// Build returns the paths of all binaries and builds the missing ones, one after another. It logs each build, its
// duration and, every few seconds, its progress; a nil log discards that. The first build on a machine takes several
// minutes; later calls only check the disk. Concurrent calls, also from other processes, wait for each other.
//
// The binaries live in binDir. A program in the directory named by KUBEBUILDER_ASSETS takes precedence, whatever its
// version. A program missing there is taken from the PATH if it has exactly the version required by go.mod. The
// environment needs a Go toolchain and, for modules missing from the module cache, a module proxy.
func Build(ctx context.Context, log io.Writer) (Binaries, error) { return build(ctx, log, false) }

// BuildForDemo is Build for the demo, not for tests. It fetches a missing API server, etcd and kubectl by setup-envtest
// (HELM_LOCKER_ENVTEST_INDEX names the index; "off" fetches nothing), in any patch release of the required minor
// version, because the index lacks most of these. Beside a fetched API server it leaves out a missing controller
// manager, with an empty path: setup-envtest has none, and it takes nearly as long to build as both.
func BuildForDemo(ctx context.Context, log io.Writer) (Binaries, error) { return build(ctx, log, true) }

func build(ctx context.Context, log io.Writer, demo bool) (Binaries, error) {
	var bins Binaries
	err := provide(ctx, programs, builder{log: log, bins: &bins, demo: demo})
	return bins, err
}

// BuildNode is Build with the programs of a node. They have a directory of their own.
func BuildNode(ctx context.Context, log io.Writer) (Binaries, error) {
	bins, err := Build(ctx, log)
	if err != nil {
		return bins, err
	}
	err = provide(ctx, nodePrograms, builder{log: log, bins: &bins})
	return bins, err
}

// BuildNeighbour returns the paths of the programs of one neighbour in tests/real or tests/node, and builds the missing
// ones as Build does. The neighbour is a folder below tests/controlplane, and its programs have a directory of their
// own.
func BuildNeighbour(ctx context.Context, log io.Writer, neighbour string) (Binaries, error) {
	var bins Binaries
	err := provide(ctx, func(string) ([]program, error) {
		return slices.DeleteFunc(neighbourPrograms(), func(p program) bool { return p.module != neighbour }), nil
	}, builder{log: log, bins: &bins})
	return bins, err
}

// builder provides programs.
type builder struct {
	log io.Writer
	// source is tests/controlplane, and dir the directory of the binaries.
	source, dir string
	bins        *Binaries
	// demo fetches programs, as BuildForDemo does.
	demo bool
	// patience is how long a server may be silent.
	patience time.Duration
	// modulesTake bounds the download of the modules of setup-envtest.
	modulesTake time.Duration
}

// provide puts the paths of some programs into b.bins, and fetches or builds the missing ones.
func provide(ctx context.Context, of func(source string) ([]program, error), b builder) (err error) {
	b.patience, b.modulesTake = serverPatience, 2*serverPatience
	if b.log == nil {
		b.log = io.Discard
	}
	if b.source, err = sourceDir(); err != nil {
		return err
	}
	all, err := of(b.source)
	if err != nil {
		return err
	}
	if b.dir, err = binDir(b.source, all); err != nil {
		return err
	}
	if len(b.spared(b.withoutFound(ctx, b.log, locate(b.dir, all, b.bins)))) == 0 {
		return nil
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return fmt.Errorf("create the binary cache: %w", err)
	}
	unlock, err := lockFile(ctx, b.dir+".lock", b.log)
	if err != nil {
		return err
	}
	// The previous holder of the lock may have built everything.
	missing := b.withoutFound(ctx, io.Discard, locate(b.dir, all, b.bins))
	return errors.Join(b.build(ctx, b.spared(b.withoutFetched(ctx, missing))), unlock())
}

// build builds programs, one after another, and logs how long the rest takes at the pace of those before.
func (b builder) build(ctx context.Context, missing []program) error {
	announce(b.log, missing, b.dir)
	began := time.Now()
	for i, p := range missing {
		what := fmt.Sprintf("%s (%d/%d)", p.name, i+1, len(missing))
		err := Step(b.log, what, p.takes, func() error { return buildProgram(ctx, b.source, b.dir, p) })
		if err != nil {
			return err
		}
		if left := missing[i+1:]; len(left) > 0 {
			pace := float64(time.Since(began)) / float64(estimate(missing[:i+1]))
			fmt.Fprintf(b.log, "%d more to build: about %s at this pace\n", len(left),
				time.Duration(float64(estimate(left))*pace).Round(10*time.Second))
		}
	}
	return nil
}

// locate puts the path of every program, built or not, into bins, and returns the programs that do not exist yet.
func locate(dir string, all []program, bins *Binaries) (missing []program) {
	for _, p := range all {
		path := filepath.Join(dir, filepath.FromSlash(p.name))
		if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" && p.module == "" {
			if asset := filepath.Join(assets, p.name); isFile(asset) {
				path = asset
			}
		}
		*p.path(bins) = path
		if !isFile(path) {
			missing = append(missing, p)
		}
	}
	return missing
}

// buildProgram builds with the same flags as scripts/build and scripts/demo, so that shared packages are compiled
// once. As long as the go.mod files require the same versions of golang.org/x and k8s.io, that is most of both Helms
// and of the operator.
func buildProgram(ctx context.Context, source, dir string, p program) error {
	module := filepath.Join(source, p.module)
	ldflags := "-s -w"
	if p.versionVar != "" {
		version, err := requiredVersion(filepath.Join(module, "go.mod"), p.versionOf)
		if err != nil {
			return err
		}
		ldflags += " -X " + p.versionVar + "=" + version
	}
	target := filepath.Join(dir, filepath.FromSlash(p.name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("create the binary cache: %w", err)
	}
	// The rename below makes the binary appear complete or not at all: an interrupted build leaves no truncated
	// binary for the next one.
	partial := target + ".partial"
	if out, err := inModule(ctx, module, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags",
		ldflags, "-o", partial, p.pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.name, err, tail(out, 4000))
	}
	if err := os.Rename(partial, target); err != nil {
		return fmt.Errorf("put %s in place: %w", p.name, err)
	}
	return nil
}

// inModule returns a command with the environment of a build in a module.
func inModule(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.WaitDelay = time.Second // a program that go has started may outlive it, and hold the output
	return cmd
}

// Root returns the top directory of the repository.
func Root() (string, error) {
	source, err := sourceDir()
	return filepath.Dir(filepath.Dir(source)), err
}

// sourceDir returns the path of tests/controlplane. It is searched from the working directory upwards first, because
// with -trimpath the file names recorded at compile time name no real directory.
func sourceDir() (string, error) {
	starts := []string{}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			source := filepath.Join(dir, "tests", "controlplane")
			if isFile(filepath.Join(source, "helm3", "go.mod")) && isFile(filepath.Join(source, "go.mod")) {
				return source, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("the directory tests/controlplane was not found above any of %s", strings.Join(starts, ", "))
}

// binDir returns the directory of some programs: below $HELM_LOCKER_CACHE, or helm-locker in the user's cache
// directory, one per set of module versions, Go version and platform.
func binDir(source string, all []program) (string, error) {
	root := os.Getenv("HELM_LOCKER_CACHE")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory (set HELM_LOCKER_CACHE to choose one): %w", err)
		}
		root = filepath.Join(cache, "helm-locker")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("resolve the cache directory: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	seen := map[string]bool{}
	for _, p := range all {
		fmt.Fprintln(hash, p.name, p.pkg, p.versionVar)
		if seen[p.module] {
			continue
		}
		seen[p.module] = true
		own, err := filepath.Glob(filepath.Join(source, p.module, "*.go"))
		if err != nil {
			return "", fmt.Errorf("find the sources of %s: %w", p.name, err)
		}
		for _, file := range append([]string{filepath.Join(source, p.module, "go.mod"),
			filepath.Join(source, p.module, "go.sum")}, own...) {
			content, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("hash the control plane's modules: %w", err)
			}
			fmt.Fprintf(hash, "%d\n%s", len(content), content)
		}
	}
	return filepath.Join(root, hex.EncodeToString(hash.Sum(nil))[:16]), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// tail returns the last n bytes of content.
func tail(content []byte, n int) []byte { return content[max(0, len(content)-n):] }
