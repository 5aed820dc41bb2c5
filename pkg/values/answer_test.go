package values

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// recorded returns the Source of a chart in a directory, installed with some values.
func recorded(t testing.TB, dir, config string) *Source {
	t.Helper()
	c, err := loader.LoadDir(dir)
	check.NoError(t, err)
	s := &Source{Key: release.Key{Namespace: "apps", Name: "shop"}, Revision: 1, Next: 2, Config: json.RawMessage(config)}
	s.Chart, err = json.Marshal(c)
	check.NoError(t, err)
	r, err := newRenderer(s, nil)
	check.NoError(t, err)
	values, err := s.config()
	check.NoError(t, err)
	loaded, top, err := r.inputs(task{config: values})
	check.NoError(t, err)
	files, err := engine.Render(loaded, top)
	check.NoError(t, err)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, "NOTES.txt") && !strings.Contains(name, "/_") {
			fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", name, files[name])
		}
	}
	s.Manifest = b.String()
	return s
}

func ask(t testing.TB, s *Source, object, path string, wanted any) Answer {
	t.Helper()
	f, err := newFinder(s, nil)
	check.NoError(t, err)
	kind, name, _ := strings.Cut(object, "/")
	segments, err := ParsePath(path)
	check.NoError(t, err)
	for _, o := range f.recorded.objects {
		if o.ID.Kind == kind && o.ID.Name == name {
			return f.answer(Question{Field{o.ID, segments}, wanted})
		}
	}
	t.Fatalf("there is no %s", object)
	return Answer{}
}

func TestAsk(t *testing.T) {
	s := recorded(t, "testdata/shop", `{"token":true,"web":{"replicas":4}}`)
	const container = "spec.template.spec.containers[web]."
	for _, test := range []struct {
		object, path string
		wanted       any
		set          string
	}{
		{"Deployment/shop-web", "spec.replicas", 5, "--set web.replicas=5"},
		{"Deployment/shop-web", "spec.minReadySeconds", 5, "--set web.grace=5"},
		{"Deployment/shop-web", "spec.progressDeadlineSeconds", 900, "--set web.deadline=900"},
		{"Deployment/shop-web", container + "image", "registry.example.org/shop:2.1", "--set image.tag=2.1"},
		{"Deployment/shop-web", container + "image", "other/shop:2.1", "--set image.repository=other/shop --set image.tag=2.1"},
		{"Deployment/shop-web", container + "args[1]", "--plain", `--set-json web.extraArgs=["--verbose","--plain"]`},
		{"Deployment/shop-web", container + "securityContext.readOnlyRootFilesystem", false, "--set web.readOnly=false"},
		{"Deployment/shop-web", container + "securityContext.privileged", true, "--set web.privileged=true"},
		{"Deployment/shop-web", container + "resources.limits.cpu", "1", "--set-string web.resources.limits.cpu=1"},
		{"Deployment/shop-web", "spec.template.metadata.annotations.note", "a, b", `--set web.note=a\, b`},
		{"Deployment/shop-web", "spec.template.metadata.annotations.added", "x", "--set web.podAnnotations.added=x"},
		{"Deployment/shop-web", "spec.replicas", nil, "--set autoscaling=true"},
		{"Deployment/shop-web", container + "livenessProbe.periodSeconds", 20, "a constant in shop/templates/_helpers.tpl:8"},
		{"ConfigMap/shop", "data[settings.ini]", "[shop]\ngreeting=good day\nport=8080\n", "--set config.greeting=good day"},
		{"ConfigMap/shop", "data.banner", "welcome", "--set config.banner=welcome"},
		{"ConfigMap/shop", "data.revision", "r2", "the version of the chart, in shop/templates/rest.yaml"},
		{"Secret/shop", "data.password", "aHVudGVyMg==", "--set password=hunter2"},
		{"Secret/shop", "data.token", "aHVudGVyMg==", "the templates compute another value each time that the chart is rendered"},
		{"Service/shop", "metadata.annotations[example.org/scrape]", "false", `--set-string service.annotations.example\.org/scrape=false`},
		{"Service/shop", "spec.type", "NodePort", "--set service.type=NodePort"},
	} {
		a := ask(t, s, test.object, test.path, test.wanted)
		got := a.Governor
		for _, s := range a.Settings {
			flag, argument, err := s.Flag()
			check.NoError(t, err)
			got = strings.TrimSpace(got + " " + flag + " " + argument)
		}
		t.Logf("%s %s: %s, %d others, %d renders", test.object, test.path, got, len(a.Others), a.Renders)
		check.That(t, got == test.set, "%s %s: %s\nwant %s", test.object, test.path, got, test.set)
	}
}
