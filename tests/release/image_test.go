//go:build linux

package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// descriptor is a reference of the OCI image format.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/descriptor.md
type descriptor struct {
	MediaType, Digest string
	Size              int
	Platform          struct{ OS, Architecture string }
	Annotations       map[string]string
}

// blob decodes the target of a descriptor after comparing its size; TestChecksumsCoverEveryFile and the comparison
// here verify that blobs are named by their checksums.
func (d descriptor) blob(t *testing.T, into any) []byte {
	t.Helper()
	name := "image/blobs/" + strings.Replace(d.Digest, ":", "/", 1)
	content := read(t, name)
	check.That(t, len(content) == d.Size && "sha256:"+sums(t, string(read(t, "SHA256SUMS")))[name] == d.Digest,
		"%s is not what its descriptor says", d.Digest)
	if into != nil {
		check.NoError(t, json.Unmarshal(content, into))
	}
	return content
}

// image is the image of this architecture.
type image struct {
	config struct {
		Architecture, OS, Created string
		Config                    struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
	}
	layer []byte
}

func readImage(t *testing.T) image {
	t.Helper()
	var top, index struct{ Manifests []descriptor }
	check.NoError(t, json.Unmarshal(read(t, "image/index.json"), &top))
	check.Must(t,
		len(top.Manifests) == 1 && top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] == version,
		"the layout has %+v", top.Manifests)
	top.Manifests[0].blob(t, &index)
	check.Must(t,
		len(index.Manifests) == 1 && index.Manifests[0].Platform.Architecture == runtime.GOARCH &&
			index.Manifests[0].Platform.OS == "linux", "the image has %+v", index.Manifests)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	index.Manifests[0].blob(t, &manifest)
	var i image
	manifest.Config.blob(t, &i.config)
	check.Must(t, len(manifest.Layers) == 1, "there are %d layers", len(manifest.Layers))
	i.layer = manifest.Layers[0].blob(t, nil)
	return i
}

// TestImageIsWhatTheDockerfileSays: the image is made without docker, which must not matter.
func TestImageIsWhatTheDockerfileSays(t *testing.T) {
	need(t)
	i := readImage(t)
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	check.NoError(t, err)
	_, last, _ := strings.Cut(string(dockerfile), "\nFROM scratch\n")
	labels := map[string]string{}
	for _, found := range regexp.MustCompile(`(org\.opencontainers\.[a-z.]+)="([^"]*)"`).FindAllStringSubmatch(last, -1) {
		labels[found[1]] = strings.NewReplacer("$VERSION", version, "$COMMIT", commit, "$DATE", date).Replace(found[2])
	}
	check.That(t, len(labels) >= 7 && maps.Equal(labels, i.config.Config.Labels), "labels are %v, want %v",
		i.config.Config.Labels, labels)
	for _, want := range []string{"\nUSER " + i.config.Config.User + "\n", "\nENTRYPOINT [\"" +
		strings.Join(i.config.Config.Entrypoint, `", "`) + "\"]\n"} {
		check.That(t, strings.Contains(last, want), "the Dockerfile does not say %q", want)
	}
	user := regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`)
	check.That(t, user.MatchString(i.config.Config.User), "the user is %q: kubelet cannot tell that it is not root",
		i.config.Config.User)
	check.That(t, i.config.OS == "linux" && i.config.Architecture == runtime.GOARCH && i.config.Created == date,
		"the configuration is %+v", i.config)
	files := unpack(t, i.layer)
	want := []string{"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/",
		"etc/ssl/certs/ca-certificates.crt", "licenses/", "licenses/LICENSE", "usr/", "usr/bin/", "usr/bin/helm-locker",
		"usr/bin/helm-locker-notifications"}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the image has %v, want %v", names, want)
	}
	check.That(t,
		bytes.Equal(files["usr/bin/helm-locker"], read(t, program)) &&
			bytes.Equal(files["usr/bin/helm-locker-notifications"], read(t, notifications)),
		"the programs in the image are not those beside it")
	for name, source := range map[string]string{"etc/passwd": "package/etc/passwd", "etc/group": "package/etc/group",
		"licenses/LICENSE": "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(root, source))
		check.NoError(t, err)
		check.That(t, bytes.Equal(files[name], content), "%s is not %s", name, source)
	}
	uid, _, _ := strings.Cut(i.config.Config.User, ":")
	check.That(t, strings.Contains(string(files["etc/passwd"]), ":"+uid+":"), "user %s has no name: %s", uid,
		files["etc/passwd"])
}

// extract writes the image's files below a directory, with the image's permissions.
func (i image) extract(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	// The parents of a test's directory are for its user only; the image's user has to get through.
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) {
		check.NoError(t, os.Chmod(at, 0o755))
	}
	unpacking := exec.CommandContext(t.Context(), "tar", "--extract", "--gzip", "--preserve-permissions",
		"--no-same-owner", "--directory", dir)
	unpacking.Stdin = bytes.NewReader(i.layer)
	out, err := unpacking.CombinedOutput()
	check.Must(t, err == nil, "%v: %s", err, out)
	return dir
}

// command returns a program of the image as a container runtime would start it, as closely as possible without one:
// with the image's files as the whole file system, as its user, without environment. Users without the right to change
// the root run it in the usual one.
func (i image) command(ctx context.Context, t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	entrypoint := i.config.Config.Entrypoint
	if args[0] == "notifications" {
		entrypoint = []string{"/usr/bin/helm-locker-notifications"}
	}
	if os.Getuid() != 0 {
		t.Log("not root: the program runs with the files and the user of this machine")
		return exec.CommandContext(ctx, filepath.Join(dir, entrypoint[0]), append(entrypoint[1:], args...)...)
	}
	cmd := exec.CommandContext(ctx, entrypoint[0], append(entrypoint[1:], args...)...)
	cmd.Path, cmd.Err = entrypoint[0], nil
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	return cmd
}

func TestImageRuns(t *testing.T) {
	need(t)
	i := readImage(t)
	dir := i.extract(t)
	out, err := i.command(t.Context(), t, dir, "--version").CombinedOutput()
	check.Must(t, err == nil && strings.Contains(string(out), version), "%v: %s", err, out)

	runOperator(t, i, dir, "--metrics-address", "0")
}

// runOperator runs the image's program as the operator, with its files in dir, and returns when it has reverted a
// change.
func runOperator(t *testing.T, i image, dir string, args ...string) *kit.Env {
	t.Helper()
	e := kit.New(t, shared)
	i.run(t, dir, shared.Kubeconfig(), append([]string{"operator", "--namespace", e.Operator,
		"--controller-name", e.Operator, "--health-address", "0"}, args...)...)
	e.Forged("app", kit.ConfigMap("one", "declared"))
	e.Patch(kit.ConfigMaps, "one", `{"data":{"key":"tampered"}}`)
	e.WaitField(kit.ConfigMaps, "one", "data.key", "declared")
	return e
}

// run runs a process of the image's program, with its files in dir, with a kubeconfig until the end of the test.
func (i image) run(t *testing.T, dir, kubeconfig string, args ...string) {
	t.Helper()
	// Where a service account's files would be mounted.
	content, err := os.ReadFile(kubeconfig)
	check.NoError(t, err)
	path := "/kubeconfig-" + args[0]
	check.NoError(t, os.WriteFile(filepath.Join(dir, path), content, 0o644))
	if os.Getuid() != 0 {
		path = filepath.Join(dir, path)
	}
	var log bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	process := i.command(ctx, t, dir, append(args, "--kubeconfig", path)...)
	process.Stdout, process.Stderr = &log, &log
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	if err := process.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := process.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v", args[0], err)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", args[0], log.String())
		}
	})
}
