package plain

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestCutKeepsWholeCharactersWithinTheBound(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("ä", 40), strings.Repeat("日本", 40), "aé🌊éaé🌊é"} {
		for n := 3; n < 60; n++ {
			got := Cut(s, n)
			check.Must(t, len(got) <= n && utf8.ValidString(got), "Cut(%q, %d) is %q", s, n, got)
			if len(s) <= n && got != s {
				t.Fatalf("Cut(%q, %d) is %q", s, n, got)
			}
		}
	}
}

func TestNamesCountsTheOthers(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a, b": {"a", "b"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		check.Equal(t, Names(names, 2), want)
	}
}
