package fidelity

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// shape is one object of a chart with edits of it.
type shape struct {
	// object is "plural/name".
	object string
	// manifest is the template of the object, with the annotation "note: NOTE" for an upgrade to change.
	manifest string
	edits    []edit
	// after has the object's values after the upgrade, by dot-separated paths.
	after map[string]any
	// static is set for a manifest without the note.
	static bool
	// helm is the only Helm that accepts the manifest ("helm 3"); empty for both.
	helm string
	// cluster is set for an object without namespace.
	cluster bool
	// group is that of a custom resource.
	group string
}

// edit is one change to an object.
type edit struct {
	name  string
	patch string
	// kind is a merge patch for an object and a JSON patch for a list, if it is empty.
	kind types.PatchType
	// stays is the part of a JSON patch that the lock does not revert, if any.
	stays string
	// helm is the only Helm with which it stays: server-side apply restores the order of all lists.
	helm string
	// owns is set when the tampering manager still owns a field dropped by the API server.
	owns bool
	// folded is set when Helm 4 sends the field as stringData: after its apply, too, the tampering manager owns data.
	folded bool
}

func (e edit) patchType() types.PatchType {
	switch {
	case e.kind != "":
		return e.kind
	case strings.HasPrefix(e.patch, "["):
		return types.JSONPatchType
	}
	return types.MergePatchType
}

// The operations of a JSON patch; values are JSON.
func set(path, value string) string {
	return fmt.Sprintf(`{"op":"replace","path":%q,"value":%s}`, path, value)
}
func add(path, value string) string {
	return fmt.Sprintf(`{"op":"add","path":%q,"value":%s}`, path, value)
}
func del(path string) string { return fmt.Sprintf(`{"op":"remove","path":%q}`, path) }
func move(from, path string) string {
	return fmt.Sprintf(`{"op":"move","from":%q,"path":%q}`, from, path)
}
func ops(operations ...string) string { return "[" + strings.Join(operations, ",") + "]" }

// setting and removing are edits by a JSON patch of one operation.
func setting(name, path, value string) edit { return edit{name: name, patch: ops(set(path, value))} }
func removing(name, path string) edit       { return edit{name: name, patch: ops(del(path))} }

// target is a live object of a shape.
type target struct {
	*fixture
	*shape
	gvr schema.GroupVersionResource
}

func (w *fixture) target(s *shape) *target {
	plural, _, _ := strings.Cut(s.object, "/")
	gvr := resource(plural)
	if s.group != "" {
		gvr.Group = s.group
	}
	return &target{w, s, gvr}
}

func (o *target) name() string {
	_, name, _ := strings.Cut(o.object, "/")
	return name
}

func (o *target) namespace() string {
	if o.cluster {
		return ""
	}
	return o.Apps
}

// live returns the object as it is now; nil when it does not exist.
func (o *target) live() *unstructured.Unstructured {
	u, err := o.In(o.gvr, o.namespace()).Get(o.Ctx, o.name(), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return u
}

func (o *target) tamper(kind types.PatchType, patch, manager string) *unstructured.Unstructured {
	o.Helper()
	options := metav1.PatchOptions{FieldManager: manager}
	if kind == types.ApplyPatchType {
		force := true
		options.Force = &force
	}
	u, err := o.In(o.gvr, o.namespace()).Patch(o.Ctx, o.name(), kind, []byte(patch), options)
	if err != nil {
		o.Fatalf("tamper with %s: %v", o.object, err)
	}
	return u
}
