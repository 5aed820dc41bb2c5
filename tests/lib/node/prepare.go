//go:build linux

package node

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

const (
	// own begins the names of the images of programs below tests/node.
	own             = "localhost/helm-locker-"
	workloadVersion = "1"
	// Workload is the image of tests/node/workload: it pauses for the Pods themselves, and works for tests.
	Workload = own + "workload:" + workloadVersion
	// repository is the image of the chart.
	repository = "docker.io/rancher/helm-locker"
	// earlier is the commit to upgrade from: the last one with one process for everything.
	earlier = "e4b7886"
)

// plan is the outcome of the builds outside of the namespaces.
type plan struct {
	// Chart is the packed chart of the release, and EarlierChart that of an earlier commit, empty in a checkout
	// without it.
	Chart, EarlierChart string
	Images              []image
}

// image is the archive of an image, and the image's name without its version.
type image struct{ Name, File string }

// prepare builds all needs of a node into a directory.
func prepare(ctx context.Context, dir string) (plan, error) {
	var p plan
	bins, err := cluster.BuildNode(ctx, os.Stderr)
	if err != nil {
		return p, err
	}
	// Inside of the namespaces there is no way to the module proxy.
	for _, other := range []string{"metrics", "helmcontroller"} {
		if _, err := cluster.BuildNeighbour(ctx, os.Stderr, other); err != nil {
			return p, err
		}
	}
	top, err := shell(ctx, ".", "git rev-parse --show-toplevel")
	if err != nil {
		return p, err
	}
	chart, file, err := makeRelease(ctx, top, filepath.Join(dir, "dist"))
	if err != nil {
		return p, err
	}
	p.Chart, p.Images = chart, []image{{repository, file}}
	if chart, file, err = makeEarlier(ctx, top, dir); err != nil {
		return p, err
	}
	if chart != "" {
		p.EarlierChart, p.Images = chart, append(p.Images, image{repository, file})
	}
	for _, i := range []ownImage{
		{source: "workload", version: workloadVersion},
		{source: "helmjob", version: "3", helm: bins.Helm3},
		{source: "helmjob", version: "4", helm: bins.Helm4},
	} {
		file, err := i.make(ctx, top, dir)
		if err != nil {
			return p, err
		}
		p.Images = append(p.Images, image{own + i.source, file})
	}
	return p, nil
}

// makeEarlier makes the release of the earlier commit. A checkout without that commit has none.
func makeEarlier(ctx context.Context, top, dir string) (chart, image string, err error) {
	known, err := shell(ctx, top, "git cat-file -e "+earlier+"^{commit} 2>/dev/null && echo known || true")
	if err != nil {
		return "", "", err
	}
	if known == "" {
		fmt.Fprintf(os.Stderr, "node: no upgrade from %s, a commit that is not in this checkout\n", earlier)
		return "", "", nil
	}
	tree := filepath.Join(dir, "earlier")
	// A release has notes of its history.
	if _, err := shell(ctx, top, fmt.Sprintf("git clone --quiet --shared --no-checkout . %s && git -C %s checkout --quiet %s",
		tree, tree, earlier)); err != nil {
		return "", "", err
	}
	return makeRelease(ctx, tree, filepath.Join(dir, "earlier-dist"))
}

// makeRelease makes the release of a tree in a directory, and returns its chart and its image.
func makeRelease(ctx context.Context, tree, dist string) (chart, image string, err error) {
	if _, err := shell(ctx, tree, "scripts/release --dry-run >/dev/null", "DIST="+dist,
		"PLATFORMS=linux/"+runtime.GOARCH); err != nil {
		return "", "", err
	}
	// Not the chart of the example, helm-locker-example.
	found, err := filepath.Glob(filepath.Join(dist, "helm-locker-[v0-9]*.tgz"))
	if err != nil || len(found) != 1 {
		return "", "", errors.Join(fmt.Errorf("the charts of the release are %v", found), err)
	}
	image = filepath.Join(dist, "image.tar")
	return found[0], image, archive(filepath.Join(dist, "image"), image)
}

// ownImage is an image of a program below tests/node, with Helm unless helm is empty.
type ownImage struct{ source, version, helm string }

// make makes the image, and returns its archive.
func (i ownImage) make(ctx context.Context, top, dir string) (file string, err error) {
	source := "tests/node/" + i.source
	program := "helm-locker-" + i.source
	layout := filepath.Join(dir, i.source+i.version)
	platform := " linux/" + runtime.GOARCH + ":/out/"
	line := fmt.Sprintf("go build -trimpath -buildvcs=false -ldflags '-s -w' -o %s/%s ./%s && "+
		"bin/release image -context %s -out %s -arg VERSION=%s -date 2026-01-01T00:00:00Z", dir, program, source, source,
		layout, i.version) + fmt.Sprintf("%s%s=%s/%s", platform, program, dir, program)
	if i.helm != "" {
		line += platform + "helm-locker-helm=" + i.helm
	}
	if _, err := shell(ctx, top, line, "CGO_ENABLED=0"); err != nil {
		return "", err
	}
	return layout + ".tar", archive(layout, layout+".tar")
}

// archive packs a directory.
func archive(dir, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("create an archive: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed := tar.NewWriter(out)
	if err := packed.AddFS(os.DirFS(dir)); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	return packed.Close()
}

// shell runs a line in a directory, and returns its output.
func shell(ctx context.Context, dir, line string, env ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", line, err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
