package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestLocatePrefersKubebuilderAssets(t *testing.T) {
	assets, cache := t.TempDir(), t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	for _, path := range []string{filepath.Join(assets, "etcd"), filepath.Join(cache, "etcd"),
		filepath.Join(cache, "kubectl")} {
		check.NoError(t, os.WriteFile(path, nil, 0o755))
	}
	source, err := sourceDir()
	check.NoError(t, err)
	all, err := programs(source)
	check.NoError(t, err)
	var bins Binaries
	missing := locate(cache, all, &bins)
	check.That(t, bins.Etcd == filepath.Join(assets, "etcd") && bins.Kubectl == filepath.Join(cache, "kubectl"),
		"located %+v", bins)
	names := []string{}
	for _, p := range missing {
		names = append(names, p.name)
	}
	check.Equal(t, strings.Join(names, " "), "kube-apiserver kube-controller-manager helm3/helm helm4/helm", "missing")
	check.That(t, filepath.Base(bins.Helm3) == "helm" && filepath.Base(bins.Helm4) == "helm",
		"Helm derives its field manager from the name of the binary, which must be helm")
}

// fromModules returns the module of each program by its name, and the directory of the binaries.
func fromModules(t *testing.T) (modules map[string]string, dir string) {
	t.Helper()
	source, err := sourceDir()
	check.NoError(t, err)
	all, err := programs(source)
	check.NoError(t, err)
	dir, err = binDir(source, all)
	check.NoError(t, err)
	modules = map[string]string{}
	for _, p := range all {
		modules[p.name] = p.module
	}
	return modules, dir
}

func TestVersions(t *testing.T) {
	want, newest := fromModules(t)
	dirs := map[string]bool{newest: true}
	for _, choice := range []struct {
		variable, version string
		changed           map[string]string
		unknown           []string
		hint              string
	}{
		{kubernetesVariable, "1.30", map[string]string{"kube-apiserver": "v1.30", "kube-controller-manager": "v1.30"},
			[]string{"1.7", "1.30/../v1.30"}, "choose one of 1.30, 1.33"},
		{kubernetesVariable, "1.33", map[string]string{"kube-apiserver": "v1.33", "kube-controller-manager": "v1.33"},
			nil, ""},
		{helmVariable, "older", map[string]string{"helm3/helm": "helm3/older", "helm4/helm": "helm4/older"},
			[]string{"/usr/bin/helm"}, "set it to older"},
	} {
		t.Run(choice.variable+"="+choice.version, func(t *testing.T) {
			t.Setenv(choice.variable, choice.version)
			got, dir := fromModules(t)
			for name, module := range got {
				check.Equal(t, module, cmp.Or(choice.changed[name], want[name]), "%s is built from", name)
			}
			check.That(t, !dirs[dir], "two choices of versions are in %s", dir)
			dirs[dir] = true
			for _, unknown := range choice.unknown {
				t.Setenv(choice.variable, unknown)
				_, err := Build(t.Context(), nil)
				check.That(t, err != nil && strings.Contains(err.Error(), choice.hint), "version %q: %v", unknown, err)
			}
		})
	}
}

func TestLockFileExcludesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, io.Discard)
	check.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockFile(ended, path, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that a second lock waits", err)
	}
	check.NoError(t, unlock())
	again, err := lockFile(t.Context(), path, io.Discard)
	check.NoError(t, err)
	check.Report(t, again())
}

func TestReservedPortsAreDistinctAndKept(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		p, err := reservePort()
		check.NoError(t, err)
		t.Cleanup(func() { check.Report(t, p.release()) })
		check.That(t, !seen[p.number] && p.number != 0, "port %d was given twice", p.number)
		seen[p.number] = true
	}
}

func TestResourceOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/apps/configmaps/a":                      "configmaps",
		"/api/v1/configmaps":                                        "configmaps",
		"/api/v1/namespaces/apps":                                   "namespaces",
		"/api/v1/namespaces":                                        "namespaces",
		"/api/v1/namespaces/apps/finalize":                          "namespaces",
		"/apis/apps/v1/namespaces/apps/deployments/a/status":        "deployments",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/something": "clusterroles",
		"/apis/apps/v1":                                             "",
		"/readyz":                                                   "",
		"/":                                                         "",
	} {
		check.Equal(t, resourceOf(path), want, "resource of %s", path)
	}
}
