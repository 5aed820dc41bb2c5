// Package check fails tests on unexpected errors.
package check

import "testing"

// NoError ends the test at an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Report reports an error; the test goes on.
func Report(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
