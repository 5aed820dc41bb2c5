package oracle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is an object of the API as JSON.
type object map[string]any

// at returns a value within an object; nil when there is none.
func (o object) at(path ...string) any {
	if value, found, err := unstructured.NestedFieldNoCopy(o, path...); found && err == nil {
		return value
	}
	return nil
}

func (o object) text(path ...string) string           { return as[string](o.at(path...)) }
func (o object) fields(path ...string) map[string]any { return as[map[string]any](o.at(path...)) }
func (o object) items(path ...string) []any           { return as[[]any](o.at(path...)) }

// as returns a value if it is of a type, otherwise the zero value.
func as[T any](value any) T {
	typed, _ := value.(T) // absent and of another type are equal here
	return typed
}

// identity names an object, independently of the API version.
type identity struct{ group, kind, namespace, name string }

func (i identity) String() string { return fmt.Sprintf("%s %s/%s", i.kind, i.namespace, i.name) }

func (o object) identity() identity {
	gvk := schema.FromAPIVersionAndKind(o.text("apiVersion"), o.text("kind"))
	return identity{gvk.Group, gvk.Kind, o.text("metadata", "namespace"), o.text("metadata", "name")}
}

const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
	resourcePolicy   = "helm.sh/resource-policy"
)

func (o object) uid() string                   { return o.text("metadata", "uid") }
func (o object) annotation(name string) string { return o.text("metadata", "annotations", name) }

// content returns the user-written part of an object: neither status nor fields filled in by the API server.
func (o object) content() object {
	c, annotations := maps.Clone(o), maps.Clone(o.fields("metadata", "annotations"))
	delete(c, "status")
	delete(annotations, "deployment.kubernetes.io/revision") // of the Deployment's controller
	c["metadata"] = []any{o.at("metadata", "labels"), annotations, o.at("metadata", "ownerReferences"),
		o.at("metadata", "finalizers")}
	return c
}

func sameContent(a, b object) bool { return reflect.DeepEqual(a.content(), b.content()) }

// declared returns the part of a manifest's object that is comparable with a live one.
func (o object) declared() object {
	c := maps.Clone(o)
	for _, key := range []string{"status", "stringData", "apiVersion", "kind"} {
		delete(c, key)
	}
	c["metadata"] = map[string]any{"labels": o.at("metadata", "labels"), "annotations": o.at("metadata", "annotations")}
	if o.text("kind") == "Secret" {
		data := map[string]any{}
		for key, value := range o.fields("data") {
			if data[key] = value; value != nil { // null demands nothing
				data[key] = strings.Join(strings.Fields(fmt.Sprint(value)), "")
			}
		}
		for key, text := range o.fields("stringData") {
			data[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(text)))
		}
		c["data"] = data
	}
	return c
}

// branch is a part of the fields that one manager owns by one operation.
type branch struct {
	manager, operation string
	fields             map[string]any
}

// branches returns the owned fields of an object by owner, subresources apart.
func (o object) branches() (all []branch) {
	for _, item := range o.items("metadata", "managedFields") {
		if e := object(as[map[string]any](item)); e.text("subresource") != "status" {
			all = append(all, branch{e.text("manager"), e.text("operation"), e.fields("fieldsV1")})
		}
	}
	return all
}

// helmsManager returns Helm's field manager for an object: that of the annotation with the release's name.
func (o object) helmsManager() string {
	for _, b := range o.branches() {
		if object(b.fields).at("f:metadata", "f:annotations", "f:"+releaseName) != nil {
			return b.manager
		}
	}
	return "helm"
}

// leaf is a declared value with the live one at the same place.
type leaf struct {
	path           string
	declared, live any
	owners         []branch
}

// leaves calls visit with every declared value, the live value and its owners.
func leaves(declared, live object, visit func(leaf)) {
	walk("", map[string]any(declared.declared()), map[string]any(live), live.branches(), visit)
}

// differing returns the declared values that a live object lacks, by their paths.
func differing(declared, live object) map[string]leaf {
	found := map[string]leaf{}
	leaves(declared, live, func(l leaf) {
		if !same(l.declared, l.live) {
			found[l.path] = l
		}
	})
	return found
}

func walk(path string, declared, live any, owned []branch, visit func(leaf)) {
	switch d := declared.(type) {
	case nil:
	case map[string]any:
		l := as[map[string]any](live)
		for _, key := range slices.Sorted(maps.Keys(d)) {
			walk(path+"/"+key, d[key], l[key], below(owned, "f:"+key, nil), visit)
		}
	case []any:
		l := as[[]any](live)
		for i, element := range d {
			at := path + "/" + strconv.Itoa(i)
			if j := match(element, l, i); j < 0 {
				visit(leaf{at, element, nil, nil})
			} else {
				walk(at, element, l[j], below(owned, "", l[j]), visit)
			}
		}
	default:
		visit(leaf{path, declared, live, owned})
	}
}

// below follows the owned fields by one step: to a field, or to the element of a list. An owner owns all parts.
func below(owned []branch, field string, element any) (found []branch) {
	for _, b := range owned {
		if len(b.fields) == 0 {
			found = append(found, b)
		}
		for key, value := range b.fields {
			child, ok := value.(map[string]any)
			if ok && (key == field || field == "" && names(key, element)) {
				found = append(found, branch{b.manager, b.operation, child})
			}
		}
	}
	return found
}

// names reports whether a key of owned fields names an element of a list.
func names(key string, element any) bool {
	kind, content, _ := strings.Cut(key, ":")
	var value any
	if kind != "k" && kind != "v" || json.Unmarshal([]byte(content), &value) != nil {
		return false
	}
	if kind == "v" {
		return reflect.DeepEqual(value, element)
	}
	for k, v := range as[map[string]any](value) {
		if as[map[string]any](element)[k] != v {
			return false
		}
	}
	return true
}

// match returns the index of the live element for a declared one; -1 for none. It has all declared values, or the same
// name, or the same index.
func match(declared any, live []any, at int) int {
	fields, isMap := declared.(map[string]any)
	named := -1
	for i, l := range live {
		whole := true
		walk("", declared, l, nil, func(l leaf) { whole = whole && same(l.declared, l.live) })
		if whole {
			return i
		}
		if name := fields["name"]; name != nil && name == as[map[string]any](l)["name"] {
			named = i
		}
	}
	if named < 0 && isMap && fields["name"] == nil && at < len(live) {
		return at
	}
	return named
}

// same reports whether a declared value and a live one are equal to an API server, which normalizes quantities and
// omits empty values.
func same(declared, live any) bool {
	d, l := fmt.Sprint(declared), fmt.Sprint(live)
	if live == nil {
		return slices.Contains([]string{"", "0", "false"}, d)
	}
	dq, err := resource.ParseQuantity(d)
	lq, other := resource.ParseQuantity(l)
	return d == l || err == nil && other == nil && dq.Cmp(lq) == 0
}
