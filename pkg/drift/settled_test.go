package drift

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestI5_WhatManagedFieldsExcuse(t *testing.T) {
	deployed := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	desired := map[string]any{"data": map[string]any{"a": "1", "b": "2"}}
	live := map[string]any{"data": map[string]any{"a": "other"}}
	const markers = `"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{},` +
		`"f:meta.helm.sh/release-namespace":{}}}`
	entry := func(manager, subresource, fields string, at time.Time) metav1.ManagedFieldsEntry {
		then := metav1.NewTime(at)
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			Subresource: subresource, Time: &then, FieldsV1: metav1.NewFieldsV1("{" + fields + "," + markers + "}")}
	}
	foreign := func(subresource string, at time.Time) metav1.ManagedFieldsEntry {
		e := entry("kubectl", subresource, "", at)
		e.FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:x":{}}}}`)
		return e
	}
	both := `"f:data":{"f:a":{},"f:b":{}}`
	helm := entry("helm", "", both, deployed)
	ofStatus := foreign("status", deployed.Add(time.Hour))
	part := entry("helm", "", `"f:data":{"f:a":{}}`, deployed)
	after := deployed.Add(time.Second)
	type entries = []metav1.ManagedFieldsEntry
	changes := []Change{{"/data/a", Modified}, {"/data/b", Removed}, {"/data/c", Added}}
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    []string
	}{
		"only Helm":                    {entries{helm, ofStatus}, []string{"/data/a", "/data/b"}},
		"an earlier writer":            {entries{helm, foreign("", deployed)}, []string{"/data/a", "/data/b"}},
		"a field that was removed":     {entries{part}, []string{"/data/a"}},
		"a later writer":               {entries{helm, foreign("", after)}, nil},
		"a later writer through scale": {entries{helm, foreign("scale", after)}, nil},
		"a later write of Helm's name": {entries{entry("helm", "", both, after)}, nil},
		"another writer of the field in the same second": {entries{
			entry("helm", "", `"f:data":{".":{}}`, deployed), {
				Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: helm.Time,
				FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`),
			},
		}, nil},
		"a second entry of Helm's name": {entries{helm, {
			Manager: "helm", Operation: metav1.ManagedFieldsOperationApply, Time: helm.Time,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:x":{}}}}`),
		}}, nil},
		"nobody": {nil, nil},
	} {
		var got []string
		excused := ManagedBy(c.entries).LeftByHelm(c.entries, desired, live, changes, metav1.NewTime(deployed))
		for _, ch := range excused {
			got = append(got, ch.Path)
		}
		check.That(t, slices.Equal(got, c.want), "%s: excused are %v, want %v", name, got, c.want)
	}
	got := ManagedBy(entries{helm}).LeftByHelm(entries{helm}, desired, live, changes, metav1.Time{})
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
