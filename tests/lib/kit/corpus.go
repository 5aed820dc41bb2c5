package kit

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// Corpus returns the files of the rendered manifests of real charts, sorted. They are not part of the repository: there
// are none where it is alone. The directory of a file has the name of the chart.
func Corpus(t testing.TB) []string {
	t.Helper()
	const corpus = "../../../shared/corpus"
	files, err := filepath.Glob(filepath.Join(corpus, "*", "manifest.yaml"))
	check.NoError(t, err)
	if len(files) == 0 {
		t.Logf("no manifests of real charts in %s", corpus)
	}
	slices.Sort(files)
	return files
}

// ManifestChart makes a chart of a rendered manifest, and of the definitions beside it. It returns the chart's path
// and Helm's arguments for a release of the given name. The manifest is passed as a value: the chart is one line, and
// the release contains the manifest twice but as plain text, far below 1 MiB when compressed.
func ManifestChart(t testing.TB, chart, release, file string) (path string, args []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	check.NoError(t, err)
	// The cluster-scoped objects of tamper's testdata/kinds have the release in their names.
	manifest, dir := strings.ReplaceAll(string(content), "RELEASE-", release+"-"), t.TempDir()
	if chart == "ingress-nginx" {
		manifest = confine(t, manifest)
	}
	path, err = cluster.Chart(dir, chart, "0.1.0", map[string]string{"all.yaml": "{{ .Values.manifest }}\n"}, "")
	check.NoError(t, err)
	value := filepath.Join(dir, "value.yaml")
	check.NoError(t, os.WriteFile(value, []byte(manifest), 0o600))
	args = []string{"--set-file", "manifest=" + value}
	// The corpus keeps the definitions of a chart's crds/ directory apart.
	definitions, err := os.ReadFile(filepath.Join(filepath.Dir(file), "crds.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		return path, args
	}
	check.NoError(t, err)
	check.NoError(t, os.Mkdir(filepath.Join(path, "crds"), 0o755))
	check.NoError(t, os.WriteFile(filepath.Join(path, "crds", "all.yaml"), definitions, 0o600))
	return path, args
}

// confine restricts the admission webhook of ingress-nginx to the chart's own namespace, which has no Ingress: its
// Service has no Pods here, and all writes to the Ingresses of other charts would fail.
func confine(t testing.TB, manifest string) string {
	t.Helper()
	const before = "  - name: validate.nginx.ingress.kubernetes.io\n"
	check.Must(t, strings.Count(manifest, before) == 1, "the manifest of ingress-nginx does not hold %q", before)
	return strings.Replace(manifest, before, before+
		"    namespaceSelector:\n      matchLabels:\n        kubernetes.io/metadata.name: ingress-nginx\n", 1)
}

// DecodeManifest returns the objects of a manifest, those in lists one by one, and the stringData of Secrets folded
// into data.
func DecodeManifest(manifest string) ([]*unstructured.Unstructured, error) {
	all, err := DecodeAsWritten(manifest)
	for _, u := range all {
		foldStringData(u)
	}
	return all, err
}

// DecodeAsWritten returns the objects of a manifest, those in lists one by one.
func DecodeAsWritten(manifest string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := yaml.ToJSON(document)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(content, &u.Object); err != nil {
			return nil, err
		}
		switch {
		case len(u.Object) == 0:
			continue
		case u.IsList():
			list, err := u.ToList()
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		default:
			all = append(all, u)
		}
	}
}

// foldStringData moves a Secret's stringData into data, as the API server does: stringData is write-only.
func foldStringData(u *unstructured.Unstructured) {
	texts, ok := u.Object["stringData"].(map[string]any)
	if !ok || u.GetKind() != "Secret" {
		return
	}
	data, ok := u.Object["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		u.Object["data"] = data
	}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(text)))
	}
	delete(u.Object, "stringData")
}
