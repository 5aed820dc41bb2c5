package cluster

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// versionTimeout is how long a program may take to tell its version.
const versionTimeout = 10 * time.Second

// withoutFound returns the programs that have to be built: those that are in the PATH, in the version that go.mod
// requires, are put into bins instead, and named on log.
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

// hasVersion reports whether a program says that it is of a version, such as "v1.36.3": of exactly that one.
func hasVersion(ctx context.Context, path, name, want string) bool {
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
		return false
	}
	return slices.ContainsFunc(strings.Fields(string(out)), func(word string) bool {
		version, _, _ := strings.Cut(word, "+") // helm adds the commit
		return "v"+strings.TrimPrefix(version, "v") == want
	})
}
