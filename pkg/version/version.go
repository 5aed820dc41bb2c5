// Package version says what was built. The linker sets the variables of a release (scripts/build); a program that was made by
// `go build` or `go install` takes what Go recorded in it.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Set with -ldflags -X.
var linkedVersion, linkedCommit, linkedDate string

// Version is a semantic version, or "dev". Commit and Date (of the commit, RFC 3339) are "unknown" where Go recorded neither.
var Version, Commit, Date = of(debug.ReadBuildInfo())

// of returns version, commit and date: what was linked in, else what the build information says.
func of(info *debug.BuildInfo, ok bool) (version, commit, date string) {
	if ok && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	if ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				commit = setting.Value
			case "vcs.time":
				date = setting.Value
			}
		}
	}
	return cmp.Or(linkedVersion, version, "dev"), cmp.Or(linkedCommit, commit, "unknown"), cmp.Or(linkedDate, date, "unknown")
}

// String returns, for example, "v1.0.0 (3f2c1ab, 2026-11-21T10:00:00Z)".
func String() string { return fmt.Sprintf("%s (%s, %s)", Version, Commit, Date) }
