package cli

import (
	"strings"
	"testing"
)

func TestAskTakesOnlyYesForYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false,
		"yesterday\n": false} {
		var out strings.Builder
		got, err := ask(strings.NewReader(answer), &out, "Do it?")
		if err != nil || got != want || out.String() != "Do it? [y/N] " {
			t.Errorf("%q is %v, %v after %q", answer, got, err, out.String())
		}
	}
}
