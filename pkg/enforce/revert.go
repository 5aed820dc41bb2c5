package enforce

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/release"
)

// Revert is one object to revert or re-create.
type Revert struct {
	Object
	// Record is that of the locked revision.
	Record release.Record
	// Desired is the object as it is created.
	Desired map[string]any
	// Live is the object as observed; nil when it does not exist and is to be created.
	Live *unstructured.Unstructured
	// Target is the state to restore; unused for a creation.
	Target map[string]any
	// Unfinished is set when the content of Live equals Target, and only the ownership of fields is to become Helm's.
	Unfinished bool
	// RemovesForeign is set when Target lacks a list element that another manager added.
	RemovesForeign bool
	// Content makes the bodies of requests.
	Content Content
	// Manager is Helm's field manager on the object. ServerSide is set when it owns the object by server-side apply.
	Manager    string
	ServerSide bool
	// Owned is the state of the object with the field ownership for an apply; nil for a creation.
	Owned *unstructured.Unstructured
}

// Content makes the bodies of the requests of a revert. It decides the content of writes, and the kernel their time: it
// adds the preconditions.
type Content interface {
	// Patch returns the patch from live to target.
	Patch(live, target map[string]any) Patch
	// Apply returns the body of a server-side apply from live to target. owned is the state of the object with the
	// field ownership to use; nil for an object without fields of Helm's manager.
	Apply(live, target map[string]any, owned *unstructured.Unstructured) map[string]any
	// Shares returns the fields of Helm's next apply of the object that other managers own, and those of them that have
	// no value.
	Shares(now *unstructured.Unstructured, helm string) (shares, unset *fieldpath.Set)
	// Alike reports whether the declared fields are the same in two states of the object.
	Alike(a, b map[string]any) bool
}

// Patch is a merge patch (RFC 7386), or a JSON patch (RFC 6902) when Merge is nil.
type Patch struct {
	Merge      map[string]any
	Operations []Operation
}

// Operation is one of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch returns the patch from Live to Target, if Live is still the newest version. It is a merge patch, except for a
// target with nulls, which a merge patch cannot write.
func (r *Revert) patch() (types.PatchType, []byte, error) {
	if r.Target == nil { // a patch to that would take out every field
		return "", nil, errNoTarget
	}
	return r.Content.Patch(r.Live.Object, r.Target).body(r.Live.GetResourceVersion())
}

// body returns the patch with the object's resourceVersion as its precondition: a wrong one results in a conflict.
func (p Patch) body(version string) (types.PatchType, []byte, error) {
	if p.Merge == nil {
		body, err := json.Marshal(append(p.Operations,
			Operation{Op: "replace", Path: "/metadata/resourceVersion", Value: version}))
		return types.JSONPatchType, body, err
	}
	setPath(p.Merge, version, "metadata", "resourceVersion")
	body, err := json.Marshal(p.Merge)
	return types.MergePatchType, body, err
}

// setPath sets a value in nested maps, and makes the missing ones.
func setPath(m map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	m[path[len(path)-1]] = value
}

// Creator returns the field manager for the creation of the object.
func (r *Revert) Creator() string {
	if r.ServerSide {
		return managers.Revert
	}
	return r.Manager
}

var errNoTarget = errors.New("there is nothing to revert the object to")
