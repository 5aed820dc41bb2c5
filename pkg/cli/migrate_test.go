package cli

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAskTakesOnlyYesForYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false,
		"yesterday\n": false} {
		var out strings.Builder
		got, err := ask(strings.NewReader(answer), &out, "Do it?")
		check.That(t, err == nil && got == want && out.String() == "Do it? [y/N] ", "%q is %v, %v after %q", answer,
			got, err, out.String())
	}
}
