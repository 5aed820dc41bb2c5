package main

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDiffers(t *testing.T) {
	declared := map[string]any{"a": map[string]any{"b": []any{int64(1), map[string]any{"c": "x"}}}}
	live := func(c string, more ...any) map[string]any {
		return map[string]any{"extra": true, "a": map[string]any{"b": append([]any{float64(1),
			map[string]any{"c": c, "d": "default"}}, more...)}}
	}
	for _, c := range []struct {
		name        string
		live        map[string]any
		at, toSpare string
	}{
		{"what the server adds", live("x"), "", ""},
		{"another value", live("y"), "/a/b/1/c", ""},
		{"one value more in a list", live("x", "more"), "/a/b", ""},
		{"one element more that has a name", live("x", map[string]any{"name": "web-x"}), "", "/a/b/web-x"},
		{"nothing", map[string]any{}, "/a", ""},
	} {
		at, spare := differs(declared, c.live, "")
		check.That(t, at == c.at && strings.Join(spare, " ") == c.toSpare, "%s: got %q and %q, want %q and %q", c.name, at,
			spare, c.at, c.toSpare)
	}
}

func TestNamedElements(t *testing.T) {
	list := func(names ...string) (all []any) {
		for _, name := range names {
			all = append(all, map[string]any{"name": name, "env": []any{map[string]any{"name": "A"}}})
		}
		return all
	}
	object := func(names ...string) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": list(names...)}}
	}
	for _, c := range []struct {
		live      map[string]any
		at, spare string
	}{
		{object("web-x", "web"), "", "/spec/containers/web-x"},
		{object("web", "a", "b"), "", "/spec/containers/a /spec/containers/b"},
		{object("web-x"), "/spec/containers/0/name", ""},
		{object("web-x", "other"), "/spec/containers", ""},
	} {
		at, spare := differs(object("web"), c.live, "")
		check.That(t, at == c.at && strings.Join(spare, " ") == c.spare, "got %q and %q, want %q and %q", at, spare, c.at,
			c.spare)
	}
	for at, want := range map[string]bool{
		"/spec/containers/web-x": true, "/spec/containers/web-y": false, "/spec/containers/1/env/A": true,
		"/spec/containers/2/env/A": false,
		"/spec/containers":         false, "/spec/other/web-x": false, "/spec/containers/-1/env/A": false,
	} {
		check.Equal(t, hasElement(object("web-x", "web"), at), want, "%s: got %t", at, !want)
	}
	check.That(t, !hasElement(map[string]any(nil), "/spec/containers/web-x"),
		"what Helm wrote is not known, and has an element")
}
