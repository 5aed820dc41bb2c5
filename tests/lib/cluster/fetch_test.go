package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// prebuilt are the programs of an archive of setup-envtest.
var prebuilt = []string{"etcd", "kube-apiserver", "kubectl"}

// pack writes an archive of programs, and returns its path and its sum.
func pack(t *testing.T, programs ...string) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "archive.tar.gz")
	file, err := os.Create(path)
	check.NoError(t, err)
	hash := sha512.New()
	zipped, err := gzip.NewWriterLevel(io.MultiWriter(file, hash), gzip.NoCompression)
	check.NoError(t, err)
	archive := tar.NewWriter(zipped)
	for _, program := range programs {
		content, err := os.ReadFile(program)
		check.NoError(t, err)
		check.NoError(t, archive.WriteHeader(&tar.Header{Name: "controller-tools/envtest/" + filepath.Base(program),
			Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}))
		_, err = archive.Write(content)
		check.NoError(t, err)
	}
	check.NoError(t, archive.Close())
	check.NoError(t, zipped.Close())
	check.NoError(t, file.Close())
	return path, fmt.Sprintf("%x", hash.Sum(nil))
}

// listing is an index with an archive for each version.
func listing(sum, link string, versions ...string) string {
	index := "releases:\n"
	for _, v := range versions {
		index += fmt.Sprintf("  %s:\n    envtest-%s-%s-%s.tar.gz:\n      hash: %s\n      selfLink: %s\n", v, v,
			runtime.GOOS, runtime.GOARCH, sum, link)
	}
	return index
}

// serve serves an archive at /archive on loopback, and its index for some versions; it returns the index's URL.
func serve(t *testing.T, path, sum string, versions ...string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/archive", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	mux.HandleFunc("/", answer(listing(sum, server.URL+"/archive", versions...)))
	return server.URL
}

// answer answers with a text.
func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// newBuilder returns a builder for the demo with an empty directory, its log, the programs of an archive, and the
// version of kube-apiserver in go.mod.
func newBuilder(t *testing.T) (b builder, log *bytes.Buffer, missing []program, version string) {
	t.Helper()
	source, err := sourceDir()
	check.NoError(t, err)
	all, err := programs(source)
	check.NoError(t, err)
	log = &bytes.Buffer{}
	b = builder{log: log, source: source, dir: filepath.Join(t.TempDir(), "programs"), bins: &Binaries{},
		demo: true, patience: serverPatience, modulesTake: 2 * serverPatience}
	missing = slices.DeleteFunc(all, func(p program) bool { return !slices.Contains(prebuilt, p.name) })
	version, err = b.required(missing[1])
	check.NoError(t, err)
	return b, log, missing, version
}

// scripts writes programs. They print a version of Kubernetes, or etcd's. It returns their paths.
func scripts(t *testing.T, kubernetes, etcd string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range prebuilt {
		prints := "Kubernetes " + kubernetes
		if name == "etcd" {
			prints = "etcd Version: " + etcd
		}
		script(t, dir, name, prints)
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// TestAControlPlaneStartsWithFetchedPrograms serves the built programs.
func TestAControlPlaneStartsWithFetchedPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	built, err := Build(t.Context(), os.Stderr)
	check.NoError(t, err)
	path, sum := pack(t, built.Etcd, built.APIServer, built.Kubectl)
	_, _, _, version := newBuilder(t)
	t.Setenv(indexVariable, serve(t, path, sum, version))
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("HELM_LOCKER_CACHE", t.TempDir())
	_, dir := fromModules(t)
	for name, path := range map[string]string{"helm3/helm": built.Helm3, "helm4/helm": built.Helm4} {
		check.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	var log bytes.Buffer
	c := ForTest(t, Options{Demo: true, Log: &log})
	release := fmt.Sprintf("%s-%s-%s", version[1:], runtime.GOOS, runtime.GOARCH)
	fetched := filepath.Join(dir+".fetched", release)
	for _, name := range prebuilt {
		want := filepath.Join(fetched, name)
		check.That(t, slices.Contains([]string{c.binaries.Etcd, c.binaries.APIServer, c.binaries.Kubectl}, want),
			"%s is not used: %+v", want, c.binaries)
		check.That(t, !isFile(filepath.Join(dir, name)), "the fetched %s is among those that were built", name)
	}
	check.Equal(t, c.binaries.ControllerManager, "", "the controller manager")
	text := log.String()
	check.That(t, strings.Count(text, "fetched "+release) == 1 && !strings.Contains(text, "\nbuilding"), "log:\n%s", text)
	t.Setenv(indexVariable, noIndex) // they stay
	again, err := BuildForDemo(t.Context(), &log)
	check.NoError(t, err)
	check.That(t, again == c.binaries, "then %+v are used", again)
}

func TestAnotherPatchReleaseIsFetchedForTheDemoOnly(t *testing.T) {
	b, log, missing, version := newBuilder(t)
	etcd, err := b.required(missing[0])
	check.NoError(t, err)
	newer := minorOf(version) + ".99"
	path, sum := pack(t, scripts(t, newer, minorOf(etcd)[1:]+".98")...)
	t.Setenv(indexVariable, serve(t, path, sum, newer, minorOf(version)+".98", "v1.999.0"))
	left := b.withoutFetched(t.Context(), slices.Clone(missing))
	check.Must(t, len(left) == 0, "to be built for the demo: %v\n%s", left, log)
	dir := filepath.Dir(b.bins.APIServer)
	check.That(t, strings.HasPrefix(filepath.Base(dir), newer[1:]+"-"), "used are %+v", b.bins)
	b.demo = false
	log.Reset()
	left = b.withoutFetched(t.Context(), slices.Clone(missing))
	check.That(t, len(left) == len(missing) && log.Len() <= 0, "fetched for tests: %+v\n%s", b.bins, log)
	left = b.withoutFound(t.Context(), log, slices.Clone(missing))
	check.That(t, len(left) == len(missing), "tests use what was fetched for the demo: %+v", b.bins)
}

// TestWithoutPrebuiltProgramsTheyAreBuilt forces each failure of a fetch.
func TestWithoutPrebuiltProgramsTheyAreBuilt(t *testing.T) {
	_, _, _, version := newBuilder(t)
	path, sum := pack(t, scripts(t, version, "v0.1.0")...)
	impostor, impostorSum := pack(t, scripts(t, "v1.2.3", "v0.1.0")...)
	serving := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	// The kernel accepts its connections; nothing ever answers them.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, silent.Close()) })
	never := "http://" + silent.Addr().String()
	stalling := serving(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		check.Report(t, http.NewResponseController(w).Flush())
		<-r.Context().Done()
	})
	const outside = "http://192.0.2.1/" // for documentation: it has no route
	short := 300 * time.Millisecond
	for _, failure := range []struct {
		name, index, proxy string
		patience           time.Duration
		reason             string
	}{
		{name: "off", index: noIndex, reason: indexVariable + " is off"},
		{name: "connection refused", index: closed.URL, reason: "connection refused"},
		{name: "an index that never answers", index: never, patience: short, reason: "i/o timeout"},
		{name: "an archive that never answers", patience: short, reason: "i/o timeout",
			index: serving(answer(listing(sum, never, version)))},
		{name: "an archive that stops", patience: short, reason: "i/o timeout",
			index: serving(answer(listing(sum, stalling, version)))},
		{name: "modules that never come", proxy: never, reason: "get the modules of setup-envtest"},
		{name: "no such version", index: serve(t, path, sum, "v1.2.3"), reason: "unable to find a version that was supported"},
		{name: "no sum", index: serve(t, path, `""`, version), reason: "checksum mismatch"},
		{name: "a damaged archive", index: serve(t, path, impostorSum, version), reason: "checksum mismatch"},
		{name: "other programs", index: serve(t, impostor, impostorSum, version), reason: "none in the version wanted"},
		{name: "an index without TLS", index: outside, reason: "neither https nor on a loopback address"},
		{name: "a redirection to one", reason: "neither https nor on a loopback address",
			index: serving(http.RedirectHandler(outside, http.StatusFound).ServeHTTP)},
		{name: "an archive without TLS", reason: "neither https nor on a loopback address",
			index: serving(answer(listing(sum, outside, version)))},
		{name: "codes for a terminal", index: serve(t, path, `"\e[2J\a"`, version), reason: "checksum mismatch"},
	} {
		t.Run(failure.name, func(t *testing.T) {
			b, log, missing, _ := newBuilder(t)
			t.Setenv(indexVariable, failure.index)
			if failure.patience != 0 {
				b.patience = failure.patience
			}
			if failure.proxy != "" {
				b.modulesTake = 2 * short
				t.Setenv("GOPROXY", failure.proxy)
				t.Setenv("GOMODCACHE", t.TempDir())
			}
			left := b.withoutFetched(t.Context(), slices.Clone(missing))
			check.That(t, len(left) == len(missing), "used: %+v", b.bins)
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			last := lines[len(lines)-1]
			check.That(t,
				strings.HasPrefix(last, "building kube-apiserver, because no prebuilt one was fetched: ") &&
					strings.Contains(last, failure.reason) && !strings.ContainsAny(last, "\x1b\a"), "log:\n%q", log)
			_, err := os.Stat(b.dir + ".fetching")
			check.That(t, os.IsNotExist(err), "files are left: %v", err)
		})
	}
}
