package drift

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestI5_WhatManagedFieldsExcuse(t *testing.T) {
	desired := map[string]any{"data": map[string]any{"a": "1", "b": "2"}}
	live := map[string]any{"data": map[string]any{"a": "other"}}
	const deployed, after = 0, 1
	helm := func(fields string, at int) metav1.ManagedFieldsEntry {
		return wrote("helm", update, "", at, `{`+fields+`,"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{},`+
			`"f:meta.helm.sh/release-namespace":{}}}}`)
	}
	const label, both = `{"f:metadata":{"f:labels":{"f:x":{}}}}`, `"f:data":{"f:a":{},"f:b":{}}`
	changes := []Change{{"/data/a", Modified}, {"/data/b", Removed}, {"/data/c", Added}}
	for name, c := range map[string]struct {
		entries entries
		want    []string
	}{
		"only Helm": {entries{helm(both, deployed), wrote("kubectl", update, "status", after, label)},
			[]string{"/data/a", "/data/b"}},
		"an earlier writer": {entries{helm(both, deployed), wrote("kubectl", update, "", deployed, label)},
			[]string{"/data/a", "/data/b"}},
		"a field that was removed":     {entries{helm(`"f:data":{"f:a":{}}`, deployed)}, []string{"/data/a"}},
		"a later writer":               {entries{helm(both, deployed), wrote("kubectl", update, "", after, label)}, nil},
		"a later writer through scale": {entries{helm(both, deployed), wrote("kubectl", update, "scale", after, label)}, nil},
		"a later write of Helm's name": {entries{helm(both, after)}, nil},
		"another writer of the field in the same second": {entries{helm(`"f:data":{".":{}}`, deployed),
			wrote("kubectl", update, "", deployed, `{"f:data":{"f:a":{}}}`)}, nil},
		"a second entry of Helm's name": {entries{helm(both, deployed), wrote("helm", apply, "", deployed, label)}, nil},
		"nobody":                        {nil, nil},
	} {
		at := metav1.NewTime(seconds(deployed))
		got := paths(ManagedBy(c.entries).LeftByHelm(c.entries, desired, live, changes, at))
		check.That(t, slices.Equal(got, c.want), "%s: excused are %v, want %v", name, got, c.want)
	}
	written := entries{helm(both, deployed)}
	got := ManagedBy(written).LeftByHelm(written, desired, live, changes, metav1.Time{})
	check.That(t, len(got) == 0, "excused although it is not known when the record was deployed: %v", got)
}

func TestPathsOfABaseline(t *testing.T) {
	b := Baseline{"/a~1b~0": 1, "/list/3~ ff": 2, "/list/~+ff": 3, "/list/~+fe": 3, "/null~=": 4, "/more~+": 5}
	want := []string{"/a~1b~0", "/list", "/list/3", "/more", "/null"}
	got := b.Paths()
	check.That(t, slices.Equal(got, want), "paths are %q, want %q", got, want)
	n := len(b.Entries())
	check.That(t, n == len(b)-1, "%d entries are remembered of %d with a null", n, len(b))
}
