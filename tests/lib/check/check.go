// Package check ends tests at errors that they do not expect.
package check

import "testing"

// NoError ends the test at an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
