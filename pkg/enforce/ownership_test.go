package enforce

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A field written by another manager since Helm's apply stays that manager's: in scope Strict only its owner shows the
// change of a default.
func TestI5_OnlySharesOfFieldsThatHelmOwnsAreTaken(t *testing.T) {
	set := func(fields string) *fieldpath.Set {
		s := &fieldpath.Set{}
		check.NoError(t, s.FromJSON(strings.NewReader(fields)))
		return s
	}
	const sent = `{"f:data":{"f:key":{}},"f:rules":{},"f:null":{}}`
	own := set(`{"f:data":{"f:key":{}}}`)
	for fields, want := range map[string]string{
		`{"f:data":{"f:key":{},"f:other":{}}}`: `{"f:data":{"f:other":{}}}`,
		`{"f:rules":{}}`:                       `{"f:rules":{}}`,
		`{"f:null":{".":{},"f:added":{}}}`:     `{"f:null":{"f:added":{}}}`,
	} {
		got := without(set(fields), set(sent), own)
		check.That(t, got.Equals(set(want)), "of %s stays %s, want %s", fields, got, want)
	}
}
