// Package crds holds the CustomResourceDefinitions of helm-locker as YAML files, which are generated from pkg/apis.
package crds

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// Files returns the generated files, one CustomResourceDefinition each, at the root of a read-only file system.
func Files() fs.FS {
	return files
}
