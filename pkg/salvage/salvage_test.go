package salvage

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// refuser plays an API server that refuses objects. It counts the dry runs.
type refuser struct {
	refuses func(spec map[string]any) error
	asked   int
}

func (r *refuser) DryRun(_ context.Context, revert *enforce.Revert) (*unstructured.Unstructured, error) {
	r.asked++
	spec, _ := revert.Target["spec"].(map[string]any)
	return nil, r.refuses(spec)
}

func invalid(fields ...string) error {
	status := metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{}}
	for _, field := range fields {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Field: field})
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// has reports whether a map has all of the keys.
func has(m map[string]any, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return m[key] == nil })
}

// refusing returns an API server that refuses an object for which a condition holds.
func refusing(err error, holds func(spec map[string]any) bool) func(map[string]any) error {
	return func(spec map[string]any) error {
		if holds(spec) {
			return err
		}
		return nil
	}
}

// with holds for a map with all of the keys.
func with(keys ...string) func(map[string]any) bool {
	return func(m map[string]any) bool { return has(m, keys...) }
}

func customResource(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{
		Object: fixture.Object(t, "{apiVersion: e/v1, kind: E, metadata: {name: x}, spec: "+spec+"}")}
}

func newSearch(t *testing.T, desired, live string, server *refuser) *Search {
	t.Helper()
	in := judge.Input{Desired: customResource(t, desired).Object, Live: customResource(t, live)}
	found := judge.Judge(in)
	revert := func(found judge.Result) *enforce.Revert { return &enforce.Revert{Target: found.Target} }
	return New(server, in, found, revert, server.refuses(found.Target["spec"].(map[string]any)))
}

func TestTrialsFindFewAdditions(t *testing.T) {
	unsupported := apierrors.NewBadRequest("the webhook does not support dry run")
	for name, tc := range map[string]struct {
		desired, live string
		refuses       func(spec map[string]any) error
		want          []string
		most          int // dry runs
	}{
		"the field that the refusal names": {`{a: 1}`, `{a: 2, b: 1, c: 1, d: 1}`, refusing(invalid("spec.c"), with("c")),
			[]string{"/spec/c"}, 8},
		"two of many, and nothing is named": {`{a: 1}`, `{a: 2, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}`,
			refusing(invalid(), func(spec map[string]any) bool { return has(spec, "c") || has(spec, "h") }),
			[]string{"/spec/c", "/spec/h"}, maxTrials},
		"either of two": {`{a: 1}`, `{a: 2, b: 1, c: 1}`, refusing(invalid("spec"), with("b", "c")), []string{"/spec/b"}, 4},
		"a part of a map": {`{a: 1}`, `{a: 2, m: {b: 1, c: 1, d: 1}}`,
			refusing(invalid("spec.m.c"), func(spec map[string]any) bool {
				m, _ := spec["m"].(map[string]any)
				return has(m, "c")
			}), []string{"/spec/m/c"}, 8},
		"a map, of which no part is enough": {`{a: 1}`, `{a: 2, m: {b: 1, c: 1}}`, refusing(invalid("spec.m"), with("m")),
			[]string{"/spec/m"}, 4},
		"one beside another one that is refused, too": {`{a: 1}`, `{a: 2, b: 1, other: {c: 1, d: 1}}`,
			func(spec map[string]any) error {
				other, _ := spec["other"].(map[string]any)
				switch {
				case has(spec, "b"):
					return invalid("spec.b") // the other one is found when this one is gone
				case has(other, "d"):
					return invalid("spec.other.d")
				}
				return nil
			}, []string{"/spec/b", "/spec/other/d"}, maxTrials},
		"none, as no addition is at fault": {`{a: 1}`, `{a: 2, b: 1, c: 1}`,
			func(map[string]any) error { return invalid("spec.a") }, nil, 2},
		"those that are named, without dry runs": {`{a: 1}`, `{a: 2, b: {c: 1}, d: 1}`,
			func(spec map[string]any) error {
				if has(spec, "b", "d") {
					return invalid("spec.b")
				}
				return unsupported
			}, []string{"/spec/b"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := &refuser{refuses: tc.refuses}
			search := newSearch(t, tc.desired, tc.live, server)
			found, err := search.Additions(t.Context())
			check.NoError(t, err)
			var paths []string
			for _, a := range found {
				paths = append(paths, a.Path)
			}
			if slices.Sort(paths); !slices.Equal(paths, tc.want) || server.asked > tc.most {
				t.Errorf("found %q by %d dry runs, want %q by %d", paths, server.asked, tc.want, tc.most)
			}
		})
	}
}

func TestTrialsFindFewRefusedChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		desired, live string
		refuses       func(spec map[string]any) error
		want          []string
	}{
		"the one that is named": {`{a: 1, b: 1, c: 1}`, `{a: 2, b: 2, c: 2}`,
			refusing(invalid("spec.b"), func(spec map[string]any) bool { return spec["b"] == int64(1) }), []string{"/spec/b"}},
		"one of those below the named field": {`{a: 1, b: 1, c: 1}`, `{a: 2, b: 2, c: 2}`,
			refusing(invalid("spec"), func(spec map[string]any) bool { return spec["c"] == int64(1) }), []string{"/spec/c"}},
		"all": {`{a: 1, b: 1}`, `{a: 2, b: 2}`, func(map[string]any) error { return invalid("spec") },
			[]string{"/spec/a", "/spec/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			search := newSearch(t, tc.desired, tc.live, &refuser{refuses: tc.refuses})
			found, err := search.Changes(t.Context())
			check.NoError(t, err)
			var paths []string
			for _, ch := range found {
				paths = append(paths, ch.Path)
			}
			if slices.Sort(paths); !slices.Equal(paths, tc.want) {
				t.Errorf("found %q, want %q", paths, tc.want)
			}
		})
	}
}

func TestTrialsAreBounded(t *testing.T) {
	var live = `{a: 2`
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "o", "p"} {
		live += ", " + name + ": 1"
	}
	server := &refuser{refuses: refusing(invalid(), func(spec map[string]any) bool { return len(spec) > 1 })}
	search := newSearch(t, `{a: 1}`, live+"}", server)
	found, err := search.Additions(t.Context())
	check.That(t, err == nil && server.asked <= maxTrials, "%d dry runs, %v", server.asked, err)
	check.That(t, server.refuses(search.found.Without(found).Target["spec"].(map[string]any)) == nil,
		"the API server would refuse the result")
}

func TestRefusalsOfContent(t *testing.T) {
	forbidden := func(message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden,
			Reason: metav1.StatusReasonForbidden, Message: message}}
	}
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{invalid("spec"), true},
		{forbidden(`admission webhook "x" denied the request`), true},
		{forbidden(`pods "x" is forbidden: exceeded quota: q`), true},
		{forbidden(`e.e "x" is forbidden: User "u" cannot patch resource "e" in API group "e" in the namespace "n"`), false},
		{apierrors.NewConflict(schema.GroupResource{}, "x", nil), false},
		{apierrors.NewBadRequest("x"), false},
		{errors.New("x"), false},
	} {
		check.Equal(t, RefusesContent(tc.err), tc.want, "%v", tc.err)
	}
}
