package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	controllergen "github.com/rancher/wrangler/v3/pkg/controller-gen"
	"github.com/rancher/wrangler/v3/pkg/controller-gen/args"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io"
	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io"
	teamsv1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
)

const (
	module     = "github.com/rancher/helm-locker"
	apiDir     = "pkg/apis/helm.cattle.io/v1alpha1"
	docFile    = "docs/api.md"
	generated  = "pkg/generated"
	headerFile = "pkg/codegen/boilerplate.go.txt"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "codegen:", err)
		os.Exit(1)
	}
}

// run does one named step from the root of the repository.
func run(steps []string) error {
	if _, err := os.Stat(headerFile); err != nil {
		return fmt.Errorf("not at the root of the repository, use go generate ./pkg/codegen: %w", err)
	}
	if len(steps) != 1 {
		return fmt.Errorf("want one step (controllers, reference or charts), got %q", steps)
	}
	switch steps[0] {
	case "controllers":
		return generateControllers()
	case "reference":
		return appendReference(docFile, apiDir)
	case "charts":
		return documentCharts()
	default:
		return fmt.Errorf("unknown step %q, want controllers, reference or charts", steps[0])
	}
}

// generateControllers lets wrangler write typed controllers, clients and caches. It starts from an empty directory,
// so that no file of a removed type remains.
func generateControllers() error {
	if err := leaveGOPATH(); err != nil {
		return err
	}
	if err := os.RemoveAll(generated); err != nil {
		return fmt.Errorf("removing old output: %w", err)
	}
	controllergen.Run(args.Options{
		OutputPackage: module + "/" + generated,
		Boilerplate:   headerFile,
		Groups: map[string]args.Group{
			helm.GroupName: {
				Types: []any{v1alpha1.HelmRelease{}, v1alpha1.HelmReleasePolicy{}},
			},
			teams.GroupName: {
				Types: []any{teamsv1alpha1.ReleaseLock{}},
			},
		},
	})
	// Run ends the process on most errors, but returns silently when it cannot make its temporary directory.
	want := filepath.Join(generated, "controllers", helm.GroupName, v1alpha1.Version, "helmrelease.go")
	if _, err := os.Stat(want); err != nil {
		return fmt.Errorf("wrangler generated nothing: %w", err)
	}
	return nil
}

// leaveGOPATH unsets GOPATH: when it is set, wrangler writes below $GOPATH/src instead of into this module. The module
// cache stays where it is, or every module would be downloaded again.
func leaveGOPATH() error {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("asking go for its module cache: %w", err)
	}
	if err := os.Setenv("GOMODCACHE", strings.TrimSpace(string(cache))); err != nil {
		return fmt.Errorf("keeping the module cache: %w", err)
	}
	if err := os.Unsetenv("GOPATH"); err != nil {
		return fmt.Errorf("unsetting GOPATH: %w", err)
	}
	return nil
}
