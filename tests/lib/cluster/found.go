package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// versionTimeout bounds a program's version command.
const versionTimeout = 10 * time.Second

// withoutFound returns the programs that have to be built. It puts programs found in the PATH in the version required
// by go.mod into bins, and logs their names.
func withoutFound(ctx context.Context, log io.Writer, source string, bins *Binaries, missing []program) []program {
	return slices.DeleteFunc(missing, func(p program) bool {
		path, err := exec.LookPath(filepath.Base(p.name))
		if err != nil {
			return false
		}
		want, err := requiredVersion(filepath.Join(source, p.module, "go.mod"), p.versionOf)
		if err != nil || !hasVersion(ctx, path, filepath.Base(p.name), want) {
			return false
		}
		fmt.Fprintf(log, "using %s, which is %s\n", path, want)
		*p.path(bins) = path
		return true
	})
}

// hasVersion reports whether a program reports exactly the wanted version, such as "v1.36.3".
func hasVersion(ctx context.Context, path, name, want string) bool {
	got, err := versionOf(ctx, path, name)
	return err == nil && got == want
}

// versionOf returns the version reported by a program, such as "v1.36.3".
func versionOf(ctx context.Context, path, name string) (string, error) {
	arguments := map[string][]string{
		"kubectl": {"version", "--client"},
		"helm":    {"version", "--short"},
	}[name]
	if arguments == nil {
		arguments = []string{"--version"}
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if _, err := version.ParseSemantic(word); err == nil {
			word, _, _ = strings.Cut(word, "+") // helm adds the commit
			return "v" + strings.TrimPrefix(word, "v"), nil
		}
	}
	return "", fmt.Errorf("%s tells no version: %q", path, out)
}

// Versions holds the versions reported by the programs of Build, such as "v1.36.3".
type Versions struct {
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	Helm3      string `json:"helm3"`
	Helm4      string `json:"helm4"`
}

// Versions runs the programs' version commands. A program that fails or prints no version is an error.
func (b Binaries) Versions(ctx context.Context) (Versions, error) {
	var v Versions
	var errs []error
	for _, p := range []struct {
		path string
		into *string
	}{{b.APIServer, &v.Kubernetes}, {b.Etcd, &v.Etcd}, {b.Helm3, &v.Helm3}, {b.Helm4, &v.Helm4}} {
		var err error
		*p.into, err = versionOf(ctx, p.path, filepath.Base(p.path))
		errs = append(errs, err)
	}
	return v, errors.Join(errs...)
}
