package cli

import (
	"encoding/json"
	"testing"
)

func TestJSONHidesNothing(t *testing.T) {
	const text = "a\u202eb \U000e0041 \U0001f600 <secret>\x1b"
	encoded, err := encodeJSON(text, "")
	if want := `"a\u202eb \udb40\udc41 ` + "\U0001f600" + ` <secret>\u001b"` + "\n"; err != nil || encoded != want {
		t.Errorf("encoded as %q, %v", encoded, err)
	}
	var decoded string
	if err := json.Unmarshal([]byte(encoded), &decoded); err != nil || decoded != text {
		t.Errorf("decoded as %q, %v", decoded, err)
	}
}
