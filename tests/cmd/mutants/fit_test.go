package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Otherwise a mutant that does not fit its function any more would only be noticed when it is run.
func TestTheListsFitTheProgram(t *testing.T) {
	root, err := moduleRoot(t.Context())
	check.NoError(t, err)
	p, err := load(t.Context(), root, mutants())
	check.NoError(t, err)
	check.Report(t, validate(root, p, mutants()))
	check.Report(t, uncovered(root, mutants()))
	_, err = p.mutate(patience)
	check.Report(t, err)
}

func TestAFaultFitsOnePlace(t *testing.T) {
	root, err := moduleRoot(t.Context())
	check.NoError(t, err)
	const dir = "tests/cmd/mutants/testdata/sample"
	at := in(dir, "Counter.add")
	p, err := load(t.Context(), root, []mutant{breaks("", "", at.returns(""), "", "")})
	check.NoError(t, err)
	for name, tc := range map[string]struct {
		fault     fault
		want, err string
	}{
		"a statement":              {at.skips("note"), "if false { c.note(n) }", ""},
		"an if statement":          {at.skips("check"), "if false { if err := check(n); err != nil {", ""},
		"a condition":              {at.never("allowed"), "if !((c.allowed(n)) && false) {", ""},
		"the condition of several": {at.always("limit", "total"), "if ((c.total+n > limit) || true) &&", ""},
		"a qualified field":        {at.never("Counter.full"), "&& ((c.full) && false) {", ""},
		"a value":                  {at.sets("step", "3"), "Counter{step: 3}", ""},
		"an expression":            {at.becomes("size", "1"), "c.total += 1", ""},
		"a result":                 {at.returns("nil"), "error { if true { return nil };", ""},
		"a constant":               {in(dir, "limit").returns("5"), "const limit = 5", ""},
		"no symbol":                {at.skips("nothing"), "", "0 places fit"},
		"two places":               {at.skips("c"), "", "places fit instead of one"},
		"no function":              {in(dir, "none").returns(""), "", "there is no none"},
		"no package":               {in("none", "none").returns(""), "", "there is no package"},
		"another type":             {at.becomes("size", `"1"`), "", "mismatched types"},
	} {
		changed, err := p.mutate(tc.fault)
		if err == nil {
			err = errors.New("")
		}
		check.That(t, strings.Contains(err.Error(), tc.err) && (tc.err == "") == (err.Error() == ""),
			"%s: %v", name, err)
		for _, text := range changed {
			check.That(t, strings.Contains(string(text), tc.want), "%s: there is no %q in\n%s", name, tc.want, text)
		}
	}
}
