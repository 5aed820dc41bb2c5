package main

import (
	"strings"
	"testing"
)

// Otherwise a mutant with outdated source would only be noticed when it is run.
func TestTheListFitsTheSources(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := check(root, mutants()); err != nil {
		t.Error(err)
	}
	if _, err := overlayOf(root, t.TempDir(), []edit{patience}); err != nil {
		t.Error(err)
	}
}

func TestAnEditNeedsATextThatOccursOnce(t *testing.T) {
	const source = "one two two"
	for name, tc := range map[string]struct{ old, new, want, err string }{
		"once":            {"one", "three", "three two two", ""},
		"taken out":       {"one ", "", " two two", ""},
		"other form":      {"one // with\n\ttwo two", "x", "x", ""},
		"never":           {"four", "", "", "occurs 0 times"},
		"twice":           {"two", "", "", "occurs 2 times"},
		"no text":         {"", "x", "", "nothing would be changed"},
		"no other text":   {"one", "one", "", "nothing would be changed"},
		"the whole of it": {source, "x", "x", ""},
	} {
		got, err := edit{"f.go", tc.old, tc.new}.apply(source)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
