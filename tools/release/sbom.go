package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeSBOM prints the Go linker's records in a binary (see go version -m) as a CycloneDX document: the program, the
// modules in it with their checksums from go.sum, and Go's standard library.
func writeSBOM(w io.Writer, binary, version string, date time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	program := component(cdx.ComponentTypeApplication, info.Main.Path, version, "")
	program.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	program.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	program.Properties = settings(info, filepath.Base(binary))

	modules := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		modules = append(modules, component(cdx.ComponentTypeLibrary, module.Path, module.Version, module.Sum))
	}
	slices.SortFunc(modules, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	refs := make([]string, len(modules))
	for i := range modules {
		refs[i] = modules[i].BOMRef
	}

	bom := cdx.NewBOM()
	// The number derives from the binary, so the same binary has the same document.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: date.UTC().Format(time.RFC3339), Component: &program,
		Tools: &cdx.ToolsChoice{Components: &[]cdx.Component{{Type: cdx.ComponentTypeApplication,
			Name: "helm-locker/tools/release"}}},
	}
	bom.Components = &modules
	bom.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// component describes a Go module by its package URL. https://github.com/package-url/purl-spec, type golang
func component(kind cdx.ComponentType, path, version, sum string) cdx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cdx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go.sum", Value: sum}}
	}
	return c
}

// settings returns the build settings needed to repeat the build.
func settings(info *debug.BuildInfo, file string) *[]cdx.Property {
	properties := []cdx.Property{{Name: "file", Value: file}, {Name: "go", Value: info.GoVersion}}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED", "-trimpath", "-ldflags":
			properties = append(properties, cdx.Property{Name: setting.Key, Value: setting.Value})
		}
	}
	return &properties
}
