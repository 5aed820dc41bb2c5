package values

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestMergeKeepsComments(t *testing.T) {
	const file = `# The shop.
web:
  # How many.
  replicas: 3 # for now
  image: "a:1"
  extra: {}
list: [a, b]
`
	got, err := Merge([]byte(file), []Setting{
		{Key: []string{"web", "replicas"}, Wanted: 5.0}, {Key: []string{"web", "image"}, Wanted: "a:2"},
		{Key: []string{"web", "extra", "on"}, Wanted: true}, {Key: []string{"web", "port"}, Wanted: "80"},
		{Key: []string{"list"}, Wanted: []any{"a", "c"}}, {Key: []string{"new", "big"}, Wanted: 1e6}})
	check.NoError(t, err)
	const want = `# The shop.
web:
  # How many.
  replicas: 5 # for now
  image: "a:2"
  extra:
    on: true
  port: "80"
list:
  - a
  - c
new:
  big: 1000000
`
	check.That(t, string(got) == want, "it is\n%s\nwant\n%s", got, want)
}

func TestMergeIntoNothingAndIntoWrongFiles(t *testing.T) {
	set := []Setting{{Key: []string{"web", "replicas"}, Wanted: 5}}
	for file, want := range map[string]string{"": "web:\n  replicas: 5\n", "web:\n": "web:\n  replicas: 5\n",
		"web: 1\n": "", "web: [1]\n": "", "- a\n": "", "{": "", "a: &a {b: 1}\nweb: *a\n": ""} {
		got, err := Merge([]byte(file), set)
		check.That(t, string(got) == want && (err == nil) == (want != ""), "%q: %q, %v", file, got, err)
	}
}
