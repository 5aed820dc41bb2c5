package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// script writes a program into a directory; the program prints a text.
func script(t *testing.T, dir, name, prints string) {
	t.Helper()
	check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+prints+"'\n"), 0o755))
}

func TestProgramsInThePathAreUsedInTheirVersionOnly(t *testing.T) {
	source, err := sourceDir()
	check.NoError(t, err)
	required := func(module, of string) string {
		t.Helper()
		version, err := requiredVersion(filepath.Join(source, module, "go.mod"), of)
		check.NoError(t, err)
		return version
	}
	kube, etcd, helm4 := required("", "k8s.io/kubernetes"), required("", "go.etcd.io/etcd/server/v3"),
		required("helm4", "helm.sh/helm/v4")
	path := t.TempDir()
	t.Setenv("PATH", path+":/bin:/usr/bin")
	t.Setenv("KUBEBUILDER_ASSETS", "")
	script(t, path, "etcd", "etcd Version: "+strings.TrimPrefix(etcd, "v"))
	script(t, path, "kube-apiserver", "Kubernetes "+kube+"0")
	script(t, path, "kube-controller-manager", "Kubernetes "+kube+"-rc.1")
	script(t, path, "kubectl", "Client Version: "+kube)
	script(t, path, "helm", helm4+"+g1a2b3c4")

	all, err := programs(source)
	check.NoError(t, err)
	var bins Binaries
	missing := locate(t.TempDir(), all, &bins)
	var log bytes.Buffer
	missing = builder{source: source, dir: t.TempDir(), bins: &bins}.withoutFound(t.Context(), &log, missing)
	var names []string
	for _, p := range missing {
		names = append(names, p.name)
	}
	check.Equal(t, strings.Join(names, " "), "kube-apiserver kube-controller-manager helm3/helm", "to be built")
	check.That(t,
		bins.Etcd == filepath.Join(path, "etcd") && bins.Kubectl == filepath.Join(path, "kubectl") &&
			bins.Helm4 == filepath.Join(path, "helm"), "used are %+v", bins)
	want := "using " + bins.Etcd + ", which is " + etcd + "\n"
	check.That(t, strings.Contains(log.String(), want), "it tells %q, without %q", log.String(), want)
}
