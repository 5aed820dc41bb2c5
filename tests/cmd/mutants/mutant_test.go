package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mutant whose source has moved on would only be noticed when somebody runs it.
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

// module writes a module with one source file and two tests.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"pkg/a/a.go":        "package a\n\nfunc one() int { return 1 }\n",
		"pkg/a/a_test.go":   "package a\n\nfunc TestI1_One(t *testing.T) {\n}\n\nfunc TestOther(t *testing.T) {\n}\n",
		"tests/b/b_test.go": "package b\n\nfunc TestI2_Two(t *testing.T) {\n}\n",
	} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestCheckNamesWhatIsWrongWithTheList(t *testing.T) {
	good := mutant{promise: "I1", what: "counts wrong", edit: edit{"pkg/a/a.go", "return 1", "return 2"},
		pkg: "./pkg/a", run: "TestI1_One/sub"}
	for name, tc := range map[string]struct {
		change func(*mutant)
		err    string
	}{
		"good":               {func(*mutant) {}, ""},
		"text that is gone":  {func(m *mutant) { m.old = "return 3" }, "occurs 0 times"},
		"file that is gone":  {func(m *mutant) { m.file = "pkg/a/b.go" }, "b.go"},
		"test that is gone":  {func(m *mutant) { m.run = "TestI1_Two" }, "selects no test"},
		"no such promise":    {func(m *mutant) { m.promise = "I14" }, "promise"},
		"without a sentence": {func(m *mutant) { m.what = "" }, "description"},
	} {
		m := good
		tc.change(&m)
		err := check(module(t), []mutant{m})
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(module(t), []mutant{good, good}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a double one: %v", err)
	}
}

func TestTestsOfPromisesWithoutAMutantAreNamed(t *testing.T) {
	one := mutant{pkg: "./pkg/a", run: "^TestI1_One$/x|y"}
	got, err := uncovered(module(t), []mutant{one})
	if want := []string{"./tests/b TestI2_Two"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	elsewhere := mutant{pkg: "./tests/a", run: "TestI2_Two"}
	if got, err := uncovered(module(t), []mutant{one, elsewhere}); err != nil || len(got) != 1 {
		t.Errorf("with a mutant for a test of the same name in another package: %q, %v", got, err)
	}
}

func TestPackagesAndExpressionsComeOnceAndOrdered(t *testing.T) {
	all := []mutant{{pkg: "./b", run: "Z"}, {pkg: "./a", run: "Y"}, {pkg: "./b", run: "X"}, {pkg: "./b", run: "Z"}}
	if got := packages(all); !slices.Equal(got, []string{"./a", "./b"}) {
		t.Errorf("packages are %q", got)
	}
	if got := expressions(all, "./b"); !slices.Equal(got, []string{"X", "Z"}) {
		t.Errorf("expressions are %q", got)
	}
}

func TestMistakesOnTheCommandLineAreErrors(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"more"}, {"-what"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	o, err := parse([]string{"-list", "-run", "^I2 "}, io.Discard)
	if err != nil || !o.list || !o.chosen.MatchString("I2 x") || o.chosen.MatchString("I10 I2 x") {
		t.Errorf("%+v, %v", o, err)
	}
}
