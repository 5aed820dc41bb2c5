// Package check holds the checks of tests: each reports one failure, with the line of its caller.
package check

import (
	"fmt"
	"testing"
)

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

// That reports the message unless ok; the test goes on.
func That(t testing.TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}

// Must ends the test with the message unless ok.
func Must(t testing.TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}

// Equal reports two values that differ; the test goes on. The name of the value is a format and its arguments.
func Equal[T comparable](t testing.TB, got, want T, name ...any) {
	t.Helper()
	if got == want {
		return
	}
	prefix := ""
	if len(name) > 0 {
		prefix = fmt.Sprintf(fmt.Sprint(name[0]), name[1:]...) + ": "
	}
	t.Errorf("%sgot %#v, want %#v", prefix, got, want)
}
