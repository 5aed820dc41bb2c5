package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// packed encodes text as Helm does: a payload that fits into a Secret.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(text))
	check.NoError(t, err)
	check.NoError(t, w.Close())
	payload := []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))
	if len(payload) > 1<<20 {
		t.Fatalf("the payload has %d bytes, more than a Secret", len(payload))
	}
	return payload
}

// spent returns how many MiB decode allocates, all of them: a measure of the work that depends on no clock.
func spent(decode func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decode()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// withMember returns a payload that is all right but for one more member.
func withMember(name, value string) string {
	return strings.Replace(detailed, `{"name":"web"`, `{"`+name+`":`+value+`,"name":"web"`, 1)
}

// Payloads of some KiB that would take gigabytes are refused, by the operator's decoder and by that of the commands
// and the page alike.
func TestPayloadsThatExhaustMemory(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		// what both decoders, or only that of details, refuse
		both, details string
	}{
		"a manifest": {withMember("manifest", `"`+strings.Repeat("a", 24<<20)+`"`),
			"one value in it has more than 20971520 bytes", ""},
		"a name": {withMember("namespace", `"`+strings.Repeat("a", 24<<20)+`"`),
			"one value in it has more than 20971520 bytes", ""},
		"a template": {withMember("chart", `{"templates":[{"data":"`+strings.Repeat("a", 24<<20)+`"}]}`),
			"one value in it has more than 20971520 bytes", ""},
		"resources": {withMember("info", `{"resources":{"a":[`+strings.Repeat("{},", 4<<20)+`{}]}}`), "", ""},
		"keywords": {withMember("chart", `{"metadata":{"keywords":[`+strings.Repeat(`"",`, 4<<20)+`""]}}`),
			"", ""},
		"values": {withMember("config", `{"a":[`+strings.Repeat("{},", 4<<20)+`{}]}`), "",
			"more than 262144 elements"},
		"hooks": {withMember("hooks", `[`+strings.Repeat("{},", 4<<20)+`{}]`), "", "more than 10000 hooks"},
		"one hook's events": {withMember("hooks", `[{"events":[`+strings.Repeat(`"",`, 6<<20)+`""]}]`), "",
			"one value in it has more than 4194304 bytes"},
		"all of it": {withMember("chart", `{"values":[`+strings.Repeat("{},", 6<<20)+`{}],"files":[`+
			strings.Repeat("{},", 6<<20)+`{}]}`), "it decompresses to more than 33554432 bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			payload := packed(t, test.text)
			check := func(decoder, want string, mib uint64, err error) {
				t.Helper()
				if want == "" && err != nil || want != "" &&
					(!errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: error is %v, want %q", decoder, err, want)
				}
				if mib > 120 {
					t.Errorf("%s: %d MiB for a payload of %d KiB", decoder, mib, len(payload)>>10)
				}
			}
			var err error
			mib := spent(func() { _, err = Decode(payload, DefaultLimit) })
			check("of locks", test.both, mib, err)
			mib = spent(func() { _, err = DecodeDetails(payload, DefaultLimit) })
			check("of details", test.both+test.details, mib, err)
		})
	}
}
