// Package version says what was built. The linker sets the variables; see scripts/build.
package version

import "fmt"

// Version, Commit and Date (of the commit, RFC 3339) are set with -ldflags -X.
var (
	Version = "dev"
	Commit  = "unknown"
	Date    = "unknown"
)

// String returns, for example, "v1.0.0 (3f2c1ab, 2026-11-21T10:00:00Z)".
func String() string { return fmt.Sprintf("%s (%s, %s)", Version, Commit, Date) }
