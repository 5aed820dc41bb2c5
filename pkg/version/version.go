// Package version identifies the build. The linker sets the variables of a release (scripts/build). A program from `go
// build` or `go install` uses Go's build information.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Set with -ldflags -X.
var linkedVersion, linkedCommit, linkedDate string

var built = of(debug.ReadBuildInfo())

var (
	// Version is a semantic version, or "dev" where Go recorded none.
	Version = built.version
	// Commit is the hash of the commit, or "unknown".
	Commit = built.commit
	// Date is that of the commit, in RFC 3339, or "unknown".
	Date = built.date
)

type build struct{ version, commit, date string }

// of returns the linked values, completed by the build information.
func of(info *debug.BuildInfo, ok bool) build {
	var b build
	if ok && info.Main.Version != "(devel)" {
		b.version = info.Main.Version
	}
	if version, embedded := embeddedVersion(info); embedded {
		b.version = version
	} else if ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				b.commit = setting.Value
			case "vcs.time":
				b.date = setting.Value
			}
		}
	}
	return build{
		version: cmp.Or(linkedVersion, b.version, "dev"),
		commit:  cmp.Or(linkedCommit, b.commit, "unknown"),
		date:    cmp.Or(linkedDate, b.date, "unknown"),
	}
}

// module is the path of this module.
const module = "github.com/rancher/helm-locker"

// embeddedVersion returns the version of this module in a program of another module.
func embeddedVersion(info *debug.BuildInfo) (version string, embedded bool) {
	if info == nil {
		return "", false
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version, true
		}
	}
	return "", false
}

// String returns, for example, "v1.0.0 (3f2c1ab, 2026-11-21T10:00:00Z)".
func String() string { return fmt.Sprintf("%s (%s, %s)", Version, Commit, Date) }
