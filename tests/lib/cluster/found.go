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

// withoutFound returns the programs that are neither in the PATH, in exactly the version required by go.mod, nor
// fetched for the demo. It puts the others into the binaries, and logs their names.
func (b builder) withoutFound(ctx context.Context, log io.Writer, missing []program) []program {
	return slices.DeleteFunc(missing, func(p program) bool {
		want, err := b.required(p)
		if err != nil {
			return false
		}
		name := filepath.Base(p.name)
		path, err := exec.LookPath(name)
		got := want
		if err != nil || !hasVersion(ctx, path, name, want) {
			if path, got = b.fetched(ctx, p, want); path == "" {
				return false
			}
		}
		fmt.Fprintf(log, "using %s, which is %s\n", path, got)
		*p.path(b.bins) = path
		return true
	})
}

// required returns the version of a program required by go.mod.
func (b builder) required(p program) (string, error) {
	return requiredVersion(filepath.Join(b.source, p.module, "go.mod"), p.versionOf)
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
