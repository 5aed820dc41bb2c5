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
}

// Build returns the paths of all binaries and builds the missing ones, one after another. It logs each build, its
// duration and, every few seconds, its progress; a nil log discards that. The first build on a machine takes several
// minutes; later calls only check the disk. Concurrent calls, also from other processes, wait for each other.
//
// The binaries live in BinDir. A program in the directory named by KUBEBUILDER_ASSETS takes precedence, whatever its
// version. A program missing from BinDir is taken from the PATH if it has exactly the version required by go.mod. The
// environment needs a Go toolchain and, for modules missing from the module cache, a module proxy.
func Build(ctx context.Context, log io.Writer) (Binaries, error) {
	var bins Binaries
	err := provide(ctx, log, programs, &bins)
	return bins, err
}

// BuildNode is Build with the programs of a node. They have a directory of their own.
func BuildNode(ctx context.Context, log io.Writer) (Binaries, error) {
	bins, err := Build(ctx, log)
	if err != nil {
		return bins, err
	}
	err = provide(ctx, log, nodePrograms, &bins)
	return bins, err
}

// BuildNeighbour returns the paths of the programs of one neighbour that tests/real runs beside the operator, and
// builds the missing ones as Build does. The neighbour is a folder below tests/controlplane, and its programs have a
// directory of their own.
func BuildNeighbour(ctx context.Context, log io.Writer, neighbour string) (Binaries, error) {
	var bins Binaries
	err := provide(ctx, log, func(string) ([]program, error) {
		return slices.DeleteFunc(neighbourPrograms(), func(p program) bool { return p.module != neighbour }), nil
	}, &bins)
	return bins, err
}

// Module returns the version and the directory of the source of a module required by one below tests/controlplane.
func Module(ctx context.Context, below, module string) (version, dir string, err error) {
	source, err := sourceDir()
	if err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-m", "-f", "{{.Version}} {{.Dir}}", module)
	cmd.Dir = filepath.Join(source, below)
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("find the source of %s: %w", module, err)
	}
	version, dir, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, dir, nil
}

// provide puts the paths of some programs into bins, and builds the missing ones.
func provide(ctx context.Context, log io.Writer, of func(source string) ([]program, error), bins *Binaries) error {
	if log == nil {
		log = io.Discard
	}
	source, err := sourceDir()
	if err != nil {
		return err
	}
	all, err := of(source)
	if err != nil {
		return err
	}
	dir, err := binDir(source, all)
	if err != nil {
		return err
	}
	missing := withoutFound(ctx, log, source, bins, locate(dir, all, bins))
	if len(missing) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the binary cache: %w", err)
	}
	unlock, err := lockFile(ctx, dir+".lock", log)
	if err != nil {
		return err
	}
	// The previous holder of the lock may have built everything.
	missing = withoutFound(ctx, io.Discard, source, bins, locate(dir, all, bins))
	announce(log, missing, dir)
	for i, p := range missing {
		err = Step(log, fmt.Sprintf("%s (%d/%d)", p.name, i+1, len(missing)), p.takes, func() error {
			return buildProgram(ctx, source, dir, p)
		})
		if err != nil {
			break
		}
	}
	return errors.Join(err, unlock())
}

// BinDir returns the directory filled by Build: below $HELM_LOCKER_CACHE, or helm-locker in the user's cache
// directory, one per set of module versions, Go version and platform.
func BinDir() (string, error) {
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	all, err := programs(source)
	if err != nil {
		return "", err
	}
	return binDir(source, all)
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
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags",
		ldflags, "-o", partial, p.pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.name, err, tail(out, 4000))
	}
	if err := os.Rename(partial, target); err != nil {
		return fmt.Errorf("put %s in place: %w", p.name, err)
	}
	return nil
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
func tail(content []byte, n int) []byte {
	return content[max(0, len(content)-n):]
}
