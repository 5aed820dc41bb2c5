//go:build linux

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// sums returns the checksums of SHA256SUMS by file.
func sums(t *testing.T, text string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for line := range strings.Lines(text) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		check.Must(t, ok, "a line of SHA256SUMS is %q", line)
		files[name] = sum
	}
	return files
}

func TestChecksumsCoverEveryFile(t *testing.T) {
	need(t)
	said := sums(t, string(read(t, "SHA256SUMS")))
	found := map[string]string{}
	err := filepath.WalkDir(dist, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "signatures" {
			return filepath.SkipDir // made of the checksums
		}
		if err != nil || entry.IsDir() || entry.Name() == "SHA256SUMS" {
			return err
		}
		name, err := filepath.Rel(dist, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(read(t, name))
		found[name] = hex.EncodeToString(sum[:])
		return nil
	})
	check.NoError(t, err)
	check.That(t, maps.Equal(said, found), "SHA256SUMS says\n%v\nand the files are\n%v", said, found)
	for _, name := range []string{program, program + ".cdx.json", notifications, notifications + ".cdx.json", commands, commands + ".cdx.json", "NOTES.md", "helm-locker.1", "image/index.json", "image/oci-layout"} {
		check.That(t, said[name] != "", "%s is not part of the release", name)
	}
}

// The manual page has all commands, and no table: those of man are wider than a terminal.
func TestManualPage(t *testing.T) {
	need(t)
	page := string(read(t, "helm-locker.1"))
	for _, part := range []string{`.TH "HELM-LOCKER" "1" "`, `helm-locker \- makes Helm`, ".SH helm-locker diff\n",
		".SS Exit code\n", `\fB--all-contexts\fR`} {
		check.That(t, strings.Contains(page, part), "the manual page has no %q", part)
	}
	check.That(t, !strings.Contains(page, "\n.TS\n"), "the manual page has a table")
}

// TestTheOperatorsProgramHasNoTemplates: a template may call any method, so the linker keeps all methods of a program
// with the code for that. The operator's program would be half as large again, and so would its memory.
func TestTheOperatorsProgramHasNoTemplates(t *testing.T) {
	need(t)
	call := []byte("text/template.(*state).evalField")
	check.That(t, !bytes.Contains(read(t, program), call),
		"%s has %s: go build -ldflags=-dumpdep prints the functions on the way to it", program, call)
	check.That(t, bytes.Contains(read(t, notifications), call), "%s has no %s: this test would not find it",
		notifications, call)
}

// sources are the inputs of a release. The first ones are those that .dockerignore passes to the image's build.
func sources(t *testing.T) []string {
	t.Helper()
	ignore, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	check.NoError(t, err)
	var needed []string
	for line := range strings.Lines(string(ignore)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			needed = append(needed, name)
		}
	}
	return append(needed, "cmd", "Dockerfile", "charts", "docs/cli.md", "tools/release", "tests/controlplane")
}

// TestTwoBuildsAreTheSame makes the release again: of a copy, in another place and time zone, with other
// permissions, without git.
func TestTwoBuildsAreTheSame(t *testing.T) {
	need(t)
	copied, again := t.TempDir(), filepath.Join(t.TempDir(), "again")
	for _, name := range sources(t) {
		_, err := shell(t.Context(), root, nil, "cp -r --parents "+name+" "+copied)
		check.NoError(t, err)
	}
	env := []string{"VERSION=" + version, "COMMIT=" + commit, "DATE=" + date, "TZ=Asia/Tokyo", "LC_ALL=C", "USER=somebody"}
	_, err := shell(t.Context(), copied, env, "umask 077; find . -exec touch -d 2001-01-01 {} +; chmod -R go= .; mkdir "+again+
		"; scripts/build operator "+again+"/"+program+"; scripts/build notifications "+again+"/"+notifications+"; scripts/build cli "+again+"/"+commands+"; scripts/package "+again+" linux/"+runtime.GOARCH)
	check.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	check.NoError(t, err)
	first, second := sums(t, string(read(t, "SHA256SUMS"))), sums(t, string(text))
	delete(first, "NOTES.md") // which git tells
	check.That(t, maps.Equal(first, second), "the first build is\n%v\nand the second\n%v", first, second)
}

func TestVersionIsThatOfTheCommit(t *testing.T) {
	need(t)
	committed, err := shell(t.Context(), root, nil,
		"git rev-parse HEAD; TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd")
	check.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), filepath.Join(dist, program), "--version").Output()
	check.NoError(t, err)
	head := strings.Fields(committed)
	want := "helm-locker version " + version + " (" + head[0] + ", " + head[1] + ")\n"
	check.That(t, string(out) == want, "it says %q, want %q", out, want)
	subject, err := shell(t.Context(), root, nil, "git log -1 --no-merges --format='%s (%h)'")
	check.NoError(t, err)
	notes := string(read(t, "NOTES.md"))
	check.That(t, strings.Contains(notes, "- "+subject) && strings.HasPrefix(notes, "# helm-locker "+version+"\n"),
		"the notes are\n%s", notes)
}

// TestBillOfMaterials compares the document with Go's own build information of the binary.
func TestBillOfMaterials(t *testing.T) {
	need(t)
	var bom struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct {
			Timestamp string
			Component struct {
				Version string
				Hashes  []struct{ Alg, Content string }
			}
		}
		Components []struct {
			Name, Version, Purl string
			Properties          []struct{ Name, Value string }
		}
	}
	check.NoError(t, json.Unmarshal(read(t, program+".cdx.json"), &bom))
	sum := sha256.Sum256(read(t, program))
	about := bom.Metadata.Component
	check.That(t,
		bom.BOMFormat == "CycloneDX" && bom.SerialNumber != "" && bom.Metadata.Timestamp == date &&
			about.Version == version && len(about.Hashes) == 1 && about.Hashes[0].Content == hex.EncodeToString(sum[:]),
		"it is about %+v", bom.Metadata)
	var got []string
	for _, c := range bom.Components {
		if c.Name == "std" {
			check.Equal(t, c.Version, strings.TrimPrefix(runtime.Version(), "go"), "Go")
			continue
		}
		if want := "pkg:golang/" + c.Name + "@" + strings.ReplaceAll(c.Version, "+", "%2B"); c.Purl != want ||
			len(c.Properties) != 1 {
			t.Errorf("module %s is %+v", c.Name, c)
			continue
		}
		got = append(got, c.Name+" "+c.Version+" "+c.Properties[0].Value)
	}
	out, err := exec.CommandContext(t.Context(), "go", "version", "-m", filepath.Join(dist, program)).Output()
	check.NoError(t, err)
	var want []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); fields[0] == "dep" {
			want = append(want, strings.Join(fields[1:], " "))
		}
	}
	slices.Sort(want)
	if slices.Sort(got); len(want) < 50 || !slices.Equal(got, want) {
		t.Errorf("it lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestChartsAreOfTheVersion(t *testing.T) {
	need(t)
	number := strings.TrimPrefix(version, "v")
	for _, name := range []string{"helm-locker", "helm-locker-example"} {
		files := unpack(t, read(t, name+"-"+number+".tgz"))
		var chart struct{ Name, Version, AppVersion string }
		check.NoError(t, yaml.Unmarshal(files[name+"/Chart.yaml"], &chart))
		check.That(t, chart.Name == name && chart.Version == number && chart.AppVersion == version, "%s is %+v", name,
			chart)
	}
	// Both Helms read the rewritten chart, and it names the image of the same version.
	for _, helm := range []cluster.Helm{shared.Helm3(), shared.Helm4()} {
		out, err := helm.Run(t.Context(), "template", "locker", filepath.Join(dist, "helm-locker-"+number+".tgz"),
			"--kube-version", "1.36.0")
		check.NoError(t, err)
		check.That(t, strings.Contains(out, `image: "rancher/helm-locker:`+version+`"`),
			"the image is not of version %s:\n%s", version, out)
	}
}

// The plugin and the charts have one version; scripts/release compares both with the tag.
func TestPluginIsOfTheChartsVersion(t *testing.T) {
	versions := map[string]string{}
	for _, file := range []string{
		"plugin.yaml", "charts/helm-locker/Chart.yaml", "charts/helm-locker-example/Chart.yaml",
	} {
		content, err := os.ReadFile(filepath.Join(root, file))
		check.NoError(t, err)
		var about struct{ Version string }
		check.NoError(t, yaml.Unmarshal(content, &about))
		versions[about.Version] += " " + file
	}
	check.That(t, len(versions) == 1 && versions[""] == "", "the versions are %v", versions)
}

// unpack returns the files of a compressed tar archive; it fails the test for one with a timestamp of its creation.
func unpack(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	check.NoError(t, err)
	files := map[string][]byte{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		check.NoError(t, err)
		moment := header.ModTime.UTC().Format("2006-01-02T15:04:05Z")
		check.That(t, moment == date && header.Uid == 0 && header.Uname == "", "%s is of %s, by %q (%d)", header.Name,
			moment, header.Uname, header.Uid)
		mode := header.FileInfo().Mode().Perm()
		check.That(t, mode&0o022 == 0 && mode&0o444 == 0o444, "%s has permissions %v", header.Name, mode)
		files[header.Name], err = io.ReadAll(archive)
		check.NoError(t, err)
	}
}
