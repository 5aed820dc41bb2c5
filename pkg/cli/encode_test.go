package cli

import (
	"encoding/json"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestJSONHidesNothing(t *testing.T) {
	const text = "a\u202eb \U000e0041 \U0001f600 <secret>\x1b"
	encoded, err := encodeJSON(text, "")
	want := `"a\u202eb \udb40\udc41 ` + "\U0001f600" + ` <secret>\u001b"` + "\n"
	check.That(t, err == nil && encoded == want, "encoded as %q, %v", encoded, err)
	var decoded string
	err = json.Unmarshal([]byte(encoded), &decoded)
	check.That(t, err == nil && decoded == text, "decoded as %q, %v", decoded, err)
}
