package manifest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// kinds are those that Canonical may know. Helm's libraries add the last ones to the scheme, where they are linked in.
func kinds(tb testing.TB) map[schema.GroupVersionKind]reflect.Type {
	tb.Helper()
	all := maps.Clone(scheme.Scheme.AllKnownTypes())
	more := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme} {
		if err := add(more); err != nil {
			tb.Fatal(err)
		}
	}
	maps.Copy(all, more.AllKnownTypes())
	return all
}

func hasOwnForm(t reflect.Type) bool {
	entry := value.TypeReflectEntryOf(t)
	return entry.CanConvertToUnstructured() || entry.CanConvertFromUnstructured()
}

// The walk reads the fields of types as encoding/json, the converter and the library do where these three agree.
func TestTypesHaveNothingThatTheWalkDoesNotKnow(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(u reflect.Type) {
		if seen[u] {
			return
		}
		seen[u] = true
		if reflect.PointerTo(u).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) && !hasOwnForm(u) {
			t.Errorf("%s is decoded from text", u)
		}
		if hasOwnForm(u) && u.Kind() != reflect.Pointer {
			for _, by := range []reflect.Type{reflect.TypeFor[json.Marshaler](),
				reflect.TypeFor[value.UnstructuredConverter]()} {
				if u.Implements(by) != reflect.PointerTo(u).Implements(by) {
					t.Errorf("%s is encoded in another way where it has no address", u)
				}
			}
			if entry := value.TypeReflectEntryOf(u); entry.CanConvertToUnstructured() {
				if _, err := entry.ToUnstructured(reflect.New(u).Elem()); err != nil {
					t.Errorf("%s cannot be converted where it is not declared: %v", u, err)
				}
			}
			return
		}
		switch u.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(u.Elem())
		case reflect.Map:
			if u.Key().Kind() == reflect.String &&
				reflect.PointerTo(u.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
				t.Errorf("%s has keys of an encoding of their own", u)
			}
			visit(u.Elem())
		case reflect.Struct:
			checkStruct(t, u)
			for i := range u.NumField() {
				if u.Field(i).Tag.Get("json") != "-" {
					visit(u.Field(i).Type)
				}
			}
		case reflect.Array, reflect.Chan, reflect.Func, reflect.Uintptr, reflect.Complex64, reflect.Complex128,
			reflect.UnsafePointer:
			t.Errorf("%s cannot be converted", u)
		default:
		}
	}
	for _, u := range kinds(t) {
		visit(u)
	}
	if len(seen) < 1000 {
		t.Errorf("only %d types", len(seen))
	}
}

func checkStruct(t *testing.T, u reflect.Type) {
	t.Helper()
	names := map[string]int{}
	var fields func(reflect.Type)
	fields = func(u reflect.Type) {
		for i := range u.NumField() {
			field := u.Field(i)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case name == "-" && options == "":
				continue
			case field.Anonymous && name == "":
				if field.Type.Kind() != reflect.Struct || !field.IsExported() || hasOwnForm(field.Type) {
					t.Errorf("%s.%s is no plain embedded struct", u, field.Name)
					continue
				}
				fields(field.Type)
				continue
			case name == "-" || !field.IsExported():
				t.Errorf("%s.%s has no name in JSON", u, field.Name)
			case name == "":
				name = field.Name
			}
			for option := range strings.SplitSeq(options, ",") {
				if !slices.Contains([]string{"", "omitempty", "omitzero"}, option) {
					t.Errorf("%s.%s has the option %s", u, field.Name, option)
				}
			}
			names[name]++
		}
	}
	fields(u)
	known := value.TypeReflectEntryOf(u).Fields()
	for name, n := range names {
		if _, found := known[name]; n != 1 || !found {
			t.Errorf("%s has the field %s %d times", u, name, n)
		}
	}
	if len(known) != len(names) {
		t.Errorf("%s has %d fields instead of %d", u, len(known), len(names))
	}
	if _, found := reflect.PointerTo(u).MethodByName("IsZero"); found {
		t.Errorf("%s says itself when it is left out", u)
	}
}

// compare checks that Canonical returns what decoding returns, and reports whether it was sure of that without.
func compare(t *testing.T, obj map[string]any, gvk schema.GroupVersionKind) bool {
	t.Helper()
	before := fmt.Sprintf("%#v", obj)
	want, got := canonicalByDecoding(obj, gvk), Canonical(obj, gvk)
	if !reflect.DeepEqual(got, want) && fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) { // which takes NaN for NaN
		t.Fatalf("%s\ndeclared %s\ngot      %#v\nwant     %#v", gvk, before, got, want)
	}
	if fmt.Sprintf("%#v", obj) != before {
		t.Fatalf("%s was changed:\n%s", gvk, before)
	}
	u, known := scheme.Scheme.AllKnownTypes()[gvk]
	if !known {
		return false
	}
	_, form := walk(obj, reflect.New(u).Elem(), value.TypeReflectEntryOf(u), 0)
	return form != unsure
}

func TestCanonicalIsWhatDecodingSays(t *testing.T) {
	types := kinds(t)
	// Others have fields of the same types, and each field that the converter sees for the first time takes it long.
	maps.DeleteFunc(types, func(gvk schema.GroupVersionKind, _ reflect.Type) bool {
		return gvk.Version != "v1" && gvk.Version != "v2" || strings.HasSuffix(gvk.Kind, "List") ||
			strings.HasSuffix(gvk.Kind, "Options")
	})
	sorted := slices.SortedFunc(maps.Keys(types), func(a,
		b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, odd := range []int{0, 3, 30, 300} {
		m, all, sure := maker{rand.New(rand.NewPCG(1, uint64(odd))), odd}, 0, 0
		for _, gvk := range sorted {
			for range 20 {
				all++
				if compare(t, m.object(gvk, types[gvk]), gvk) {
					sure++
				}
			}
		}
		t.Logf("%d of %d objects, with %d odd values in a thousand, were walked", sure, all, odd)
	}
}

func FuzzCanonical(f *testing.F) {
	types := kinds(f)
	sorted := slices.SortedFunc(maps.Keys(types), func(a,
		b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	f.Add(uint64(1), uint16(10))
	f.Fuzz(func(t *testing.T, seed uint64, odd uint16) {
		m := maker{rand.New(rand.NewPCG(seed, 1)), int(odd % 400)}
		gvk := pick(m, sorted)
		compare(t, m.object(gvk, types[gvk]), gvk)
	})
}

// manifests returns the objects of real charts, if they are there, and of a small one.
func manifests(tb testing.TB) []Object {
	tb.Helper()
	files, err := filepath.Glob("../../../shared/corpus/*/manifest.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	all := []string{shopManifest}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, string(content))
	}
	var objects []Object
	for _, text := range all {
		set, err := Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, set.Objects...)
	}
	return objects
}

// Real objects are walked to the end.
func TestCanonicalOfRealObjects(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2)), 1000}
	for _, o := range manifests(t) {
		compare(t, o.Content, o.GVK)
		dropNulls(o.Content)
		_, known := scheme.Scheme.AllKnownTypes()[o.GVK]
		if sure := compare(t, o.Content, o.GVK); sure != known {
			t.Errorf("%s: walked %t, want %t", o.ID, sure, known)
		}
		for range 20 {
			damaged := runtime.DeepCopyJSON(o.Content)
			m.damage(damaged)
			compare(t, damaged, o.GVK)
		}
	}
}

const shopManifest = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-config
  labels: {app.kubernetes.io/name: shop, app.kubernetes.io/instance: web, helm.sh/chart: shop-1.2.3}
data:
  value: declared
  application.yaml: |
    some: configuration of the usual length
    more: configuration of the usual length
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/name: shop, app.kubernetes.io/instance: web, helm.sh/chart: shop-1.2.3}
spec:
  replicas: 2
  selector: {matchLabels: {app.kubernetes.io/name: web}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web}}
    spec:
      serviceAccountName: default
      containers:
      - name: web
        image: registry.example/shop/web:1.0.0
        args: [serve, --config=/etc/web/application.yaml]
        env:
        - {name: LOG_LEVEL, value: info}
        - {name: REGION, value: eu-1}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        ports: [{name: http, containerPort: 8080}]
        livenessProbe: {httpGet: {path: /healthz, port: http}}
        readinessProbe: {httpGet: {path: /healthz, port: 8080}}
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 1000m, memory: 128Mi}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      volumes: [{name: config, configMap: {name: web-config}}]
`

func BenchmarkCanonical(b *testing.B) {
	set, err := Parse(shopManifest)
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name      string
		canonical func(map[string]any, schema.GroupVersionKind) map[string]any
	}{{"walked", Canonical}, {"decoded", canonicalByDecoding}} {
		for _, o := range set.Objects {
			b.Run(way.name+"/"+o.ID.Kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					way.canonical(o.Content, o.GVK)
				}
			})
		}
	}
}
