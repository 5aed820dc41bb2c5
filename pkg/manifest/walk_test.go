package manifest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
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
			for _, by := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[value.UnstructuredConverter]()} {
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
			if u.Key().Kind() == reflect.String && reflect.PointerTo(u.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
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
		case reflect.Array, reflect.Chan, reflect.Func, reflect.Uintptr, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
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

// maker makes values, most of which fit their type.
type maker struct {
	*rand.Rand
	// odd is how many of a thousand values do not care for their type.
	odd int
}

func (m maker) object(gvk schema.GroupVersionKind, t reflect.Type) map[string]any {
	object, ok := m.of(t, 0).(map[string]any)
	if !ok || object == nil {
		object = map[string]any{}
	}
	object["apiVersion"], object["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return object
}

var texts = []string{
	"", "a", "true", "null", "80", "é\u2028<&>", "\xff", "a\xffb", "\x00", "25%", "1000m", "1", "0", "0m", "1.5Gi", "1e3", "0.1", "+1", " 1", "lots", "10Ei",
	"YWJj", "YWJj\n", "YW Jj", "YWI=", "YWI", "\n", "%", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z",
	"0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00", "1h", "60m", "0h", "0s", "yesterday",
}

var numbers = []any{
	int64(0), int64(1), int64(-1), int64(443), int64(math.MaxInt32), int64(math.MaxInt32 + 1), int64(math.MinInt32 - 1), int64(math.MaxInt64), int64(math.MinInt64),
	0.0, math.Copysign(0, -1), 0.5, 2.0, 1e21, 1e300, -1.5,
}

func pick[T any](m maker, from []T) T { return from[m.IntN(len(from))] }

// any makes a value of no type in particular.
func (m maker) any(depth int) any {
	switch n := m.IntN(12); {
	case n < 3:
		return pick(m, texts)
	case n < 5:
		return pick(m, numbers)
	case n == 5:
		return nil
	case n == 6:
		return m.IntN(2) == 0
	case n == 7 && m.IntN(20) == 0:
		return pick(m, []any{math.NaN(), math.Inf(1), map[string]any(nil), []any(nil)})
	case n < 10 && depth < 12:
		members := map[string]any{}
		for range m.IntN(4) {
			members[pick(m, append(texts, "name", "Name", "key", "kind", "spec", "value"))] = m.any(depth + 1)
		}
		return members
	case depth < 12:
		elements := make([]any, m.IntN(4))
		for i := range elements {
			elements[i] = m.any(depth + 1)
		}
		return elements
	}
	return "x"
}

func (m maker) of(t reflect.Type, depth int) any {
	if m.IntN(1000) < m.odd {
		return m.any(depth)
	}
	if t.Kind() == reflect.Pointer {
		return m.of(t.Elem(), depth)
	}
	if hasOwnForm(t) {
		if m.odd == 0 || m.IntN(3) > 0 {
			return map[string]any{"Quantity": "1000m", "IntOrString": int64(8080), "Time": "2026-01-01T01:00:00+01:00", "MicroTime": "2026-01-01T01:00:00.000000+01:00", "Duration": "60m"}[t.Name()]
		}
		return m.any(depth + 9)
	}
	switch t.Kind() {
	case reflect.String:
		return pick(m, []string{"", "a", "some-name", "80"})
	case reflect.Bool:
		return m.IntN(2) == 0
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return pick(m, []string{"", "YWJj", "YWJj\nZGVm\n", "\n", "\r\n"})
		}
		elements := make([]any, m.IntN(4))
		if depth > 10 {
			elements = elements[:0]
		}
		for i := range elements {
			elements[i] = m.of(t.Elem(), depth+1)
		}
		return elements
	case reflect.Map:
		members := map[string]any{}
		for range m.IntN(4) {
			members[pick(m, []string{"", "a", "b", "cpu", "é"})] = m.of(t.Elem(), depth+1)
		}
		return members
	case reflect.Struct:
		members := map[string]any{}
		m.fields(t, members, depth)
		return members
	default:
		if t.Kind() == reflect.Interface {
			return m.any(depth)
		}
		return int64(m.IntN(200))
	}
}

func (m maker) fields(t reflect.Type, members map[string]any, depth int) {
	for _, field := range value.TypeReflectEntryOf(t).OrderedFields() {
		name := field.JsonName
		if m.IntN(3+depth) > 1 || depth > 10 {
			continue
		}
		if m.IntN(1000) < m.odd {
			name = strings.ToUpper(name)
		}
		members[name] = m.of(field.GetFrom(reflect.New(t).Elem()).Type(), depth+1)
	}
}

// compare checks that Canonical returns what decoding returns, and says whether it was sure of that without.
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
		return gvk.Version != "v1" && gvk.Version != "v2" || strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options")
	})
	sorted := slices.SortedFunc(maps.Keys(types), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
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
	sorted := slices.SortedFunc(maps.Keys(types), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	f.Add(uint64(1), uint16(10))
	f.Fuzz(func(t *testing.T, seed uint64, odd uint16) {
		m := maker{rand.New(rand.NewPCG(seed, 1)), int(odd % 400)}
		gvk := pick(m, sorted)
		compare(t, m.object(gvk, types[gvk]), gvk)
	})
}

// manifests returns the objects of real charts, if they are there, and of the other tests.
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

// damage replaces one value somewhere.
func (m maker) damage(in any) {
	switch v := in.(type) {
	case map[string]any:
		if len(v) == 0 {
			v["added"] = m.any(9)
			return
		}
		key := pick(m, slices.Sorted(maps.Keys(v)))
		if leaf(v[key]) || m.IntN(10) == 0 {
			v[key] = m.any(9)
			return
		}
		m.damage(v[key])
	case []any:
		if i := m.IntN(len(v) + 1); i == len(v) {
			return
		} else if leaf(v[i]) || m.IntN(10) == 0 {
			v[i] = m.any(9)
		} else {
			m.damage(v[i])
		}
	}
}

func leaf(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
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
