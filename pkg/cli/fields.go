package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// fieldUse is the relation of a path of an ignore rule to the objects of a release.
type fieldUse struct {
	// declared is set when an object has a value at the path, possible when the kind of one has such a field.
	declared, possible bool
	// unknown is set when the fields of the kind of an object are not known: those of custom kinds.
	unknown bool
	// near is the path of a similar field of an object; empty for none.
	near string
}

// useOf returns the relation of a JSON pointer to those of the objects that a target selects, to all for nil.
func useOf(pointer string, target *v1alpha1.IgnoreTarget, objects []manifest.Object) (fieldUse, error) {
	rule, err := rules.Compile([]v1alpha1.IgnoreRule{{Paths: []string{pointer}, Target: target}})
	if err != nil {
		return fieldUse{}, err
	}
	use, path := fieldUse{}, drift.Change{Path: pointer}.Segments()
	for i := range objects {
		if rule.For(objects[i]) == nil {
			continue
		}
		use.declared = use.declared || rule.Declared(objects[i]) != nil
		kind, known := scheme.Scheme.AllKnownTypes()[objects[i].GVK]
		if !known {
			use.unknown = true
			continue
		}
		possible, near := hasField(kind, path)
		use.possible = use.possible || possible
		if use.near == "" {
			use.near = near
		}
	}
	return use, nil
}

// hasField reports whether a Go type of an API has a field at a path, and returns the pointer of a similar one
// otherwise.
func hasField(t reflect.Type, path []string) (found bool, near string) {
	for i, segment := range path {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
			return true, "" // its JSON is not that of its fields
		case t.Kind() == reflect.Map || t.Kind() == reflect.Slice:
			t = t.Elem()
			continue
		case t.Kind() != reflect.Struct:
			return false, ""
		case segment == rules.AnySegment:
			return true, ""
		}
		fields := map[string]reflect.Type{}
		addFields(fields, t)
		next, ok := fields[segment]
		if !ok {
			return false, similarField(fields, path, i)
		}
		t = next
	}
	return true, ""
}

// addFields adds the fields of a struct by their names in JSON.
func addFields(fields map[string]reflect.Type, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			addFields(fields, f.Type)
		case f.IsExported() && name != "" && name != "-":
			fields[name] = f.Type
		}
	}
}

// similarField returns the pointer of a path with segment i replaced by a field of a similar name; empty for none.
func similarField(fields map[string]reflect.Type, path []string, i int) string {
	name := inspect.Nearest(path[i], maps.Keys(fields))
	if name == "" {
		return ""
	}
	near := slices.Clone(path)
	near[i] = name
	return drift.Pointer(near...)
}

// objectsOf returns the objects that a revision declares.
func (c *connection) objectsOf(ctx context.Context, record release.Record) ([]manifest.Object, error) {
	details, err := c.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	return inspect.Objects(details, c.Scope())
}

// idlePaths describes the paths of ignore rules that leave nothing alone in the objects of a release: misspelt ones,
// which resemble a field, and others. With scope Strict a path can be that of an addition. An invalid rule is left to
// the operator, which reports it.
func idlePaths(hr *v1alpha1.HelmRelease, objects []manifest.Object) (misspelt, others []string) {
	strict := hr.Spec.Scope == v1alpha1.ScopeStrict
	for _, rule := range hr.Spec.Ignore {
		for _, path := range rule.Paths {
			use, err := useOf(path, rule.Target, objects)
			switch {
			case err != nil || use.declared:
			case !use.possible && use.near != "":
				misspelt = append(misspelt, fmt.Sprintf("ignores %s, which is no field of its objects; is it %s?", path, use.near))
			case !strict || !use.possible && !use.unknown:
				others = append(others, fmt.Sprintf("ignores %s, which none of its objects declares now", path))
			}
		}
	}
	return misspelt, others
}

// idleOf returns idlePaths for the objects of the newest revision. There are none for a release that does not exist, or
// whose record the user may not read.
func (c *connection) idleOf(ctx context.Context, hr *v1alpha1.HelmRelease) (misspelt, others []string, err error) {
	if len(hr.Spec.Ignore) == 0 {
		return nil, nil, nil
	}
	var objects []manifest.Object
	record, err := c.Find(ctx, keyOf(hr), 0)
	if err == nil {
		objects, err = c.objectsOf(ctx, record)
	}
	var missing *inspect.NotFoundError
	if errors.As(err, &missing) || apierrors.IsForbidden(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	misspelt, others = idlePaths(hr, objects)
	return misspelt, others, nil
}

// noteIdle names the paths that HelmReleases ignore without effect. The error is that of ctx.
func noteIdle(ctx context.Context, a *action, c *connection, found []*v1alpha1.HelmRelease) error {
	for _, hr := range found {
		misspelt, others, err := c.idleOf(ctx, hr)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.note("note: the ignore rules of HelmRelease %s/%s were not checked: %v", hr.Namespace, hr.Name, err)
		}
		for _, text := range append(misspelt, others...) {
			a.note("note: HelmRelease %s/%s %s", hr.Namespace, hr.Name, text)
		}
	}
	return nil
}
