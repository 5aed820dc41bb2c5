package drift

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const ownedDesired = `
metadata: {labels: {a: "1", b: "2"}, annotations: {}}
spec:
  replicas: 2
  selector: {matchLabels: {a: "1"}}
  containers:
  - {name: web, image: web:1, args: [x, y], env: [{name: A, value: "1"}]}
  - {name: proxy, image: proxy:1}
  ports:
  - {containerPort: 53, protocol: UDP}
  - {containerPort: 53}
  listeners: [{port: 80}, {port: 81}]
  finalizers: [one, two]
  numbers: [1, 2.5]
  indexed: [{a: 1}, {a: 2}]
data: {"a.b/c": x, k: y}
`

const ownedLive = `
metadata: {labels: {a: "1", b: "2", c: "3"}, annotations: {}}
spec:
  replicas: 2
  selector: {matchLabels: {a: "1"}}
  containers:
  - {name: proxy, image: proxy:2}
  - {name: web, image: web:2, args: [x, z], env: [{name: A, value: "2"}]}
  ports:
  - {containerPort: 53, protocol: UDP}
  - {containerPort: 53, protocol: TCP}
  listeners: [{port: 80, host: a}, {port: 81, host: b}]
  finalizers: [two, one]
  numbers: [1, 2.5]
  indexed: [{a: 1}, {a: 2}]
  undeclared: [{name: x, v: 1}, {name: z, v: 2}]
data: {"a.b/c": x, k: y}
`

func TestOwned(t *testing.T) {
	owner := NewOwnership(entries{
		wrote("helm", update, "", 1, `{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}},"f:spec":{"f:replicas":{},"f:selector":{},
			"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:args":{}}}},"f:data":{".":{},"f:k":{}}}`),
		wrote("keda", update, "", 1, `{"f:metadata":{"f:labels":{},"f:annotations":{}},"f:spec":{"f:replicas":{},
			"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{},"f:env":{"k:{\"name\":\"A\"}":{"f:value":{}}}},"k:{\"name\":\"gone\"}":{"f:image":{}}},
			"f:ports":{"k:{\"containerPort\":53,\"protocol\":\"TCP\"}":{".":{},"f:protocol":{}}},
			"f:listeners":{"k:{\"host\":\"b\",\"port\":81}":{".":{},"f:port":{}}},
			"f:finalizers":{"v:\"two\"":{}},"f:numbers":{"v:1.0":{},"v:2.5":{}},
			"f:indexed":{"i:1":{}},
			"f:undeclared":{"k:{\"name\":\"z\"}":{"f:v":{}}}},"f:data":{"f:a.b/c":{}}}`),
		{Manager: "status", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`)},
		{Manager: "scaler", Subresource: "scale", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)},
		{Manager: "none"}, wrote("broken", update, "", 1, `{"f:data":`), wrote("text", update, "", 1, `"x"`), wrote("empty", update, "", 1, `{}`),
		wrote("itself", update, "", 1, `{".":{}}`),
		wrote("odd", update, "", 1, `{"f:data":{"f:k":1,"x:y":{},"nothing":{},"k:[1]":{},"v:{":{},"i:-1":{},"i:x":{}}}`),
	}, obj(t, ownedDesired), obj(t, ownedLive))
	for _, test := range []struct{ path, owners string }{
		{"", ""},
		{"/spec", ""},
		{"/metadata/labels", ""},          // divided, although keda put an empty map there once
		{"/metadata/labels/a", "helm"},    // and so not owned through that
		{"/metadata/labels/c", ""},        //
		{"/metadata/annotations", "keda"}, // nobody owns a part
		{"/metadata/annotations/x", "keda"},
		{"/spec/replicas", "helm keda scaler"},
		{"/spec/selector", "helm"},
		{"/spec/selector/matchLabels/a", "helm"}, // atomic
		{"/spec/containers/0", ""},
		{"/spec/containers/0/name", "helm"},
		{"/spec/containers/0/image", "keda"},
		{"/spec/containers/0/args", "helm"},
		{"/spec/containers/0/args/1", "helm"},
		{"/spec/containers/0/env/0", ""},
		{"/spec/containers/0/env/0/value", "keda"},
		{"/spec/containers/1/image", ""}, // in the live object it is the first, which is not what counts
		{"/spec/containers/2/image", ""},
		{"/spec/ports/0/protocol", ""},
		{"/spec/ports/1/protocol", "keda"}, // TCP by default
		{"/spec/listeners/0/port", ""},
		{"/spec/listeners/1/port", "keda"}, // the host is what the server put there
		{"/spec/finalizers", ""},
		{"/spec/finalizers/0", ""},
		{"/spec/finalizers/1", "keda"},
		{"/spec/numbers/0", "keda"},
		{"/spec/numbers/1", "keda"},
		{"/spec/indexed/0/a", ""},
		{"/spec/indexed/1/a", "keda"},
		{"/spec/undeclared/0/v", ""},
		{"/spec/undeclared/1/v", "keda"}, // where nothing is declared, indexes are the live ones
		{"/data/k", "helm"},
		{"/data/a.b~1c", "keda"},
		{"/nowhere/at/all", ""},
	} {
		var owners []string
		for _, manager := range []string{"helm", "keda", "status", "scaler", "none", "broken", "text", "empty",
			"itself", "odd"} {
			if owner.Owned(parsePointer(test.path), func(m string) bool { return m == manager }) {
				owners = append(owners, manager)
			}
		}
		check.Equal(t, strings.Join(owners, " "), test.owners, "%s is owned by", test.path)
	}
}

func TestNobodyOwnsWithoutManagedFields(t *testing.T) {
	anybody := func(string) bool { return true }
	var none *Ownership
	for name, o := range map[string]*Ownership{
		"nil": none, "no entries": NewOwnership(nil, nil, nil),
		"nil objects": NewOwnership(entries{wrote("a", update, "", 1,
			`{"f:spec":{"k:{\"a\":1}":{},"v:1":{},"i:0":{}}}`)}, nil, nil),
	} {
		for _, path := range []string{"", "/spec", "/spec/0", "/spec/a/b"} {
			check.That(t, !o.Owned(parsePointer(path), anybody), "%s: %q has an owner", name, path)
		}
	}
}

func FuzzOwned(f *testing.F) {
	f.Add(`{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}},"f:finalizers":{"v:\"one\"":{}}}}`,
		"/spec/containers/0/image")
	f.Add(`{"f:spec":{"i:0":{".":{}},"k:{}":{},"v:null":{}}}`, "/spec/0")
	f.Fuzz(func(t *testing.T, fields, pointer string) {
		if !strings.HasPrefix(pointer, "/") {
			return
		}
		written := entries{wrote("a", update, "", 1, fields), wrote("b", update, "", 1, `{"f:spec":{"f:replicas":{}}}`)}
		path := parsePointer(pointer)
		ask := func(path []string) bool {
			return NewOwnership(written, obj(t, ownedDesired), obj(t, ownedLive)).Owned(path,
				func(m string) bool { return m == "a" })
		}
		owns := ask(path)
		check.Must(t, owns == ask(path), "two answers")
		if owns && !ask(append(path, "x")) {
			t.Fatal("what is below an owned field is not owned")
		}
	})
}
