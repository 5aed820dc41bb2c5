package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/rancher/helm-locker/tests/cluster"
)

// directory holds the rendered manifests; it is not part of the repository.
const directory = "../../../shared/corpus"

// chart is one manifest of the corpus, and the release made of it: both it and its namespace have the chart's name.
type chart struct {
	name     string
	manifest string
	helm     cluster.Helm
	objects  []*object
}

// object is one object of a chart.
type object struct {
	// declared is the object as in the manifest.
	declared *unstructured.Unstructured
	// resource is where the live object is, and path the same on the wire.
	resource dynamic.ResourceInterface
	path     string
	// autoscaled is set where a HorizontalPodAutoscaler of the chart sets the replicas.
	autoscaled bool
}

func (o *object) name() string { return o.declared.GetName() }

func (o *object) String() string { return o.declared.GetKind() + " " + o.name() }

// charts returns the corpus. Every other chart is for Helm 4.
func charts(t *testing.T, c *cluster.Cluster) []*chart {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*", "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no manifests of real charts in %s", directory)
	}
	slices.Sort(files)
	var all []*chart
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ch := &chart{name: filepath.Base(filepath.Dir(file)), manifest: string(content), helm: c.Helm3()}
		if i%2 == 1 {
			ch.helm = c.Helm4()
		}
		if ch.name == "ingress-nginx" {
			ch.manifest = confine(t, ch.manifest)
		}
		all = append(all, ch)
	}
	return all
}

// confine restricts the admission webhook of ingress-nginx to the chart's own namespace, which has no Ingress: its Service
// has no Pods here, and all writes to the Ingresses of other charts would fail.
func confine(t *testing.T, manifest string) string {
	const before = "  - name: validate.nginx.ingress.kubernetes.io\n"
	if strings.Count(manifest, before) != 1 {
		t.Fatalf("the manifest of ingress-nginx does not hold %q", before)
	}
	return strings.Replace(manifest, before, before+
		"    namespaceSelector:\n      matchLabels:\n        kubernetes.io/metadata.name: ingress-nginx\n", 1)
}

// install makes a release of the chart. The manifest goes in as a value, so that the chart is one line, and the release
// holds the manifest twice but as plain text, which is far from 1 MiB when packed.
func (ch *chart) install(ctx context.Context, dir, command string) error {
	path, err := cluster.Chart(dir, ch.name, "0.1.0", map[string]string{"all.yaml": "{{ .Values.manifest }}\n"}, "")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, ch.name+".yaml")
	if err := os.WriteFile(file, []byte(ch.manifest), 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	args := []string{command, ch.name, path, "--namespace", ch.name, "--set-file", "manifest=" + file, "--no-hooks"}
	if command == "install" {
		args = append(args, "--create-namespace")
	}
	_, err = ch.helm.Run(ctx, args...)
	return err
}

// resolve finds the chart's objects in the cluster.
func (ch *chart) resolve(client dynamic.Interface, mapper *restmapper.DeferredDiscoveryRESTMapper) error {
	autoscaled := map[string]bool{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(ch.manifest), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("decode the manifest: %w", err)
		}
		if len(u.Object) == 0 {
			continue
		}
		gvk := u.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return fmt.Errorf("find the resource of %s: %w", gvk, err)
		}
		o := &object{declared: u, resource: client.Resource(mapping.Resource)}
		prefix := "/apis/" + gvk.GroupVersion().String()
		if gvk.Group == "" {
			prefix = "/api/" + gvk.Version
		}
		if mapping.Scope.Name() == "namespace" {
			if u.GetNamespace() == "" {
				u.SetNamespace(ch.name)
			}
			o.resource = client.Resource(mapping.Resource).Namespace(u.GetNamespace())
			prefix += "/namespaces/" + u.GetNamespace()
		}
		o.path = prefix + "/" + mapping.Resource.Resource + "/" + u.GetName()
		ch.objects = append(ch.objects, o)
		if target, _, err := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef"); err == nil && target != nil {
			autoscaled[target["kind"]+" "+target["name"]] = true
		}
	}
	for _, o := range ch.objects {
		o.autoscaled = autoscaled[o.String()]
	}
	return nil
}
