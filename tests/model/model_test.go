package main

import (
	"errors"
	"regexp"
	"testing"
)

// The protocols, checked by SPIN: as they are they hold, and without any of their parts they do not.
func TestOrderProof(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	tools, err := findTools()
	if errors.Is(err, errNoTools) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t.Context(), tools, regexp.MustCompile(""), false, t.Output()); err != nil {
		t.Error(err)
	}
}

// A search that left states out must not count as one without a violation.
func TestACutSearchIsNotComplete(t *testing.T) {
	const end = "State-vector 80 byte, depth reached 99, errors: 0\n  2123187 states, stored\n"
	for out, want := range map[string]bool{
		end: true,
		"error: max search depth too small\n" + end:                              false,
		"pan: reached -DMEMLIM bound\nWarning: Search not completed\n" + end:     false,
		"State-vector 80 byte, depth reached 99, errors: 1\n 1 states, stored\n": false,
	} {
		if complete([]byte(out)) != want {
			t.Errorf("complete is %t of:\n%s", !want, out)
		}
	}
}

// A run with an unexpected result must not pass unnoticed.
func TestASurpriseIsAnError(t *testing.T) {
	for _, v := range variants() {
		other := result{failed: "helmWrote<=lockedBy[me]"}
		if v.expect != holds {
			other = result{}
		}
		if v.expected(other) {
			t.Errorf("%s: %q passes for %q", v.name, other.found(), v.expect)
		}
	}
	if (variant{expect: holds}).expected(result{failed: "out of memory"}) {
		t.Error("a failure of an unknown kind passes")
	}
	tools, err := findTools()
	if err != nil {
		t.Skip(err)
	}
	if err := check(t.Context(), tools, regexp.MustCompile("^no such variant$"), false, t.Output()); err == nil {
		t.Error("that nothing was run is no error")
	}
}
