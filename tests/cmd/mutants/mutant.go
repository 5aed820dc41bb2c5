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

// mutant is one way to break a promise, with the tests that must fail.
type mutant struct {
	// I1 to I14; T1: a release is written with the rights of its account, and no others; T2: reported facts are true;
	// P1: exactly the HelmReleases required by policies exist
	promise string
	what    string  // what the operator does wrong, in one line
	faults  []fault // more than one where two safeguards keep the promise
	pkg     string  // package of the tests, as tests/integration
	run     string  // -test.run of the tests; one of those that it selects has to fail
	// judged is set when the oracle, too, has to find the mutant, in a recording of the tests.
	judged bool
}

// breaks returns the mutant of one fault.
func breaks(promise, what string, f fault, pkg, run string) mutant {
	return mutant{promise: promise, what: what, faults: []fault{f}, pkg: pkg, run: run}
}

// and returns the mutant with another fault.
func (m mutant) and(f fault) mutant {
	m.faults = append(m.faults, f)
	return m
}

// seenByTheOracle returns the mutant with judged set.
func (m mutant) seenByTheOracle() mutant {
	m.judged = true
	return m
}

// String is the name of the mutant: no two have the same.
func (m mutant) String() string { return m.promise + " " + m.what }

var promises = regexp.MustCompile(`^(I([1-9]|1[0-4])|T[12]|P1)$`)

// validate reports errors in the list: faults that do not fit the program, duplicate names, expressions that select no
// test.
func validate(root string, p program, all []mutant) error {
	var errs []error
	tests, err := testNames(root)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range all {
		_, err := p.mutate(m.faults...)
		switch {
		case !promises.MatchString(m.promise) || m.what == "":
			err = errors.New("it needs a promise and a description")
		case seen[m.String()]:
			err = errors.New("it is in the list twice")
		case !slices.ContainsFunc(tests[m.pkg], m.selects):
			err = fmt.Errorf("-run '%s' selects no test of %s", m.run, m.pkg)
		}
		if seen[m.String()] = true; err != nil {
			errs = append(errs, fmt.Errorf("mutant %s: %w", m, err))
		}
	}
	return errors.Join(errs...)
}

// selects reports whether the first element of -run, for top-level tests, matches the name.
func (m mutant) selects(name string) bool {
	top, _, _ := strings.Cut(m.run, "/")
	matched, err := regexp.MatchString(top, name)
	return err == nil && matched
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)

// testNames returns the names of the top-level tests by their packages.
func testNames(root string) (map[string][]string, error) {
	all := map[string][]string{}
	for _, top := range []string{"pkg", "tests"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, "_test.go") {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			source, err := os.ReadFile(file)
			for _, found := range testFunction.FindAllStringSubmatch(string(source), -1) {
				all[filepath.ToSlash(dir)] = append(all[filepath.ToSlash(dir)], found[1])
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

var ofPromise = regexp.MustCompile(`^Test(I\d+)_`)

// uncovered returns an error for each package with tests of a promise, but no mutant of it.
func uncovered(root string, all []mutant) error {
	tests, err := testNames(root)
	errs := []error{err}
	for pkg, names := range tests {
		of := map[string]bool{}
		for _, name := range names {
			if found := ofPromise.FindStringSubmatch(name); found != nil {
				of[found[1]] = true
			}
		}
		for promise := range of {
			if !slices.ContainsFunc(all, func(m mutant) bool { return m.promise == promise && m.pkg == pkg }) {
				errs = append(errs, fmt.Errorf("%s has tests of %s, and no mutant is meant for them", pkg, promise))
			}
		}
	}
	return errors.Join(errs...)
}
