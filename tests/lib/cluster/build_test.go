package cluster

import (
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
	bins, missing := locate(cache, all)
	if bins.Etcd != filepath.Join(assets, "etcd") || bins.Kubectl != filepath.Join(cache, "kubectl") {
		t.Errorf("located %+v", bins)
	}
	names := []string{}
	for _, p := range missing {
		names = append(names, p.name)
	}
	if got := strings.Join(names, " "); got != "kube-apiserver kube-controller-manager helm3/helm helm4/helm" {
		t.Errorf("missing: %s", got)
	}
	if filepath.Base(bins.Helm3) != "helm" || filepath.Base(bins.Helm4) != "helm" {
		t.Error("Helm derives its field manager from the name of the binary, which must be helm")
	}
}

func TestVersionOfKubernetes(t *testing.T) {
	source, err := sourceDir()
	check.NoError(t, err)
	newest, err := programs(source)
	check.NoError(t, err)
	t.Setenv(kubernetesVariable, "1.30")
	old, err := programs(source)
	check.NoError(t, err)
	for i, p := range old {
		ofKubernetes := p.name == "kube-apiserver" || p.name == "kube-controller-manager"
		if got := p.module == "v1.30"; got != ofKubernetes || !got && p.module != newest[i].module {
			t.Errorf("%s is built from %q", p.name, p.module)
		}
	}
	before, err := binDir(source, newest)
	check.NoError(t, err)
	if after, err := binDir(source, old); err != nil || after == before {
		t.Errorf("both versions are in %s: %v", after, err)
	}
	for _, unknown := range []string{"1.7", "1.30/../v1.30"} {
		t.Setenv(kubernetesVariable, unknown)
		if _, err := Build(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "choose one of 1.30") {
			t.Errorf("version %q: %v", unknown, err)
		}
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
		t.Cleanup(func() {
			check.Report(t, p.release())
		})
		if seen[p.number] || p.number == 0 {
			t.Errorf("port %d was given twice", p.number)
		}
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
		if got := resourceOf(path); got != want {
			t.Errorf("resource of %s: %q, want %q", path, got, want)
		}
	}
}
