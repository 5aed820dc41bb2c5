package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// edit replaces a part of a Go file of the module. The part must occur exactly once: the changed place is then
// unambiguous, and a mutant with outdated source is noticed. Only tokens are compared, so that comments and line
// breaks do not matter.
type edit struct {
	file     string // slash-separated, from the root of the module
	old, new string
}

// apply returns the source with the edit made.
func (e edit) apply(source string) (string, error) {
	if e.old == "" || e.old == e.new {
		return "", fmt.Errorf("%s: nothing would be changed", e.file)
	}
	found := find(source, e.old)
	if len(found) != 1 {
		return "", fmt.Errorf("%s: the text to replace occurs %d times instead of once:\n%s", e.file, len(found), e.old)
	}
	return source[:found[0][0]] + strings.TrimSpace(e.new) + source[found[0][1]:], nil
}

// mutant is one way to break a promise, with the tests that must fail.
type mutant struct {
	// I1 to I14; T1: a release is written with the rights of its account, and no others; T2: reported facts are true;
	// P1: exactly the HelmReleases required by policies exist
	promise string
	what    string // what the operator does wrong, in one line
	edit
	also []edit // in other files, where one safeguard has to be broken for another one to be needed
	pkg  string // package of the tests, as ./tests/integration
	run  string // -test.run of the tests; one of those that it selects has to fail
	// crashes is set when the change is a panic: the end of the whole test program is then expected.
	crashes bool
	// judged is set when the oracle has to find the mutant in a recording of the tests, whatever their results.
	judged bool
}

// breaks returns the mutant of one edit.
func breaks(promise, what string, e edit, pkg, run string) mutant {
	return mutant{promise: promise, what: what, edit: e, pkg: pkg, run: run}
}

// and returns the mutant with more edits.
func (m mutant) and(more ...edit) mutant {
	m.also = append(m.also, more...)
	return m
}

// thatCrashes returns the mutant with crashes set.
func (m mutant) thatCrashes() mutant {
	m.crashes = true
	return m
}

// String is the name of the mutant: no two have the same.
func (m mutant) String() string { return m.promise + " " + m.what }

// check reports errors in the list: impossible edits, duplicate descriptions, expressions that select no test.
func check(root string, all []mutant) error {
	var errs []error
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.String()] {
			errs = append(errs, fmt.Errorf("mutant %s: it is in the list twice", m))
		}
		seen[m.String()] = true
		if err := m.check(root); err != nil {
			errs = append(errs, fmt.Errorf("mutant %s: %w", m, err))
		}
	}
	return errors.Join(errs...)
}

// edits returns all changes of the mutant.
func (m mutant) edits() []edit { return append([]edit{m.edit}, m.also...) }

func (m mutant) check(root string) error {
	if !regexp.MustCompile(`^(I([1-9]|1[0-4])|T[12]|P1)$`).MatchString(m.promise) || m.what == "" {
		return errors.New("it needs a promise and a description")
	}
	for _, e := range m.edits() {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
		if err != nil {
			return err
		}
		if _, err := e.apply(string(source)); err != nil {
			return err
		}
	}
	names, err := testNames(filepath.Join(root, filepath.FromSlash(m.pkg)))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(names, m.selects) {
		return fmt.Errorf("-run '%s' selects no test of %s", m.run, m.pkg)
	}
	return nil
}

// selects reports whether the first element of -run, for top-level tests, matches the name.
func (m mutant) selects(name string) bool {
	top, _, _ := strings.Cut(m.run, "/")
	matched, err := regexp.MatchString(top, name)
	return err == nil && matched
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)

// testNames returns the names of the top-level tests in a directory, ordered.
func testNames(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range testFunction.FindAllStringSubmatch(string(source), -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return names, nil
}

var ofPromise = regexp.MustCompile(`^TestI\d+_`)

// uncovered returns the tests named after a promise, in pkg and tests, without a mutant.
func uncovered(root string, all []mutant) ([]string, error) {
	var bare []string
	for _, top := range []string{"pkg", "tests"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(dir string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			relative, err := filepath.Rel(root, dir)
			if err != nil {
				return err
			}
			pkg := "./" + filepath.ToSlash(relative)
			names, err := testNames(dir)
			for _, name := range names {
				meant := func(m mutant) bool { return m.pkg == pkg && m.selects(name) }
				if ofPromise.MatchString(name) && !slices.ContainsFunc(all, meant) {
					bare = append(bare, pkg+" "+name)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return bare, nil
}
