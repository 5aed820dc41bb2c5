package whole

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func encoded(json string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte(json))) }

const detailed = `{"name":"web","namespace":"apps","version":3,
"info":{"status":"failed","description":"boom","notes":"hello","last_deployed":"2026-01-02T03:04:05Z"},
"chart":{"metadata":{"name":"web","version":"1.2.3","appVersion":"v9"},"templates":[{"name":"x","data":"eA=="}]},
"config":{"a":{"b":1},"c":"d"},"manifest":"kind: X\n","apply_method":"ssa",
"hooks":[{"name":"migrate","kind":"Job","path":"web/templates/job.yaml","manifest":"kind: Secret","events":["pre-upgrade"],"weight":-5}]}`

func TestDetailsHoldWhatPeopleAskFor(t *testing.T) {
	d, err := Decode(encoded(detailed), release.DefaultLimit)
	check.NoError(t, err)
	check.That(t,
		d.Name == "web" && d.Revision == 3 && d.Status == release.StatusFailed && d.AppVersion == "v9" &&
			d.ChartVersion == "1.2.3" && d.Notes == "hello", "release is %+v", d.Release)
	check.Equal(t, string(d.Values), `{"a":{"b":1},"c":"d"}`, "values are %s", d.Values)
	want := []Hook{{Name: "migrate", Kind: "Job", Path: "web/templates/job.yaml", Manifest: "kind: Secret",
		Events: []helmrelease.HookEvent{helmrelease.HookPreUpgrade}, Weight: -5}}
	check.That(t, reflect.DeepEqual(d.Hooks, want), "hooks are %+v", d.Hooks)
}

func TestDetailsOfHooksOnlyComeWithAnError(t *testing.T) {
	d, err := Decode(encoded(strings.Replace(detailed, "kind: X\\n", "", 1)), release.DefaultLimit)
	check.That(t, errors.Is(err, release.ErrNoManifest) && d != nil && len(d.Hooks) == 1,
		"details are %+v, error is %v", d, err)
}

func TestDetailsAreBoundedAndNeverQuoted(t *testing.T) {
	for name, tc := range map[string]struct {
		payload string
		limit   int64
		want    error
	}{
		"too large": {detailed, 100, release.ErrTooLarge},
		"values of a list": {strings.Replace(detailed, `{"a":{"b":1},"c":"d"}`, `["hunter2"]`, 1), release.DefaultLimit,
			release.ErrFormat},
		"hooks of a text": {strings.Replace(detailed, `"weight":-5`, `"weight":"hunter2"`, 1), release.DefaultLimit, release.ErrFormat},
		"cut off":         {detailed[:len(detailed)-40], release.DefaultLimit, release.ErrTruncated},
		"no name": {strings.Replace(detailed, `"name":"web","namespace"`, `"namespace"`, 1), release.DefaultLimit,
			release.ErrIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Decode(encoded(tc.payload), tc.limit)
			check.That(t, errors.Is(err, tc.want) && d == nil, "details are %+v, error is %v", d, err)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error quotes the payload: %v", err)
			}
		})
	}
}

// member is one more member of an otherwise valid payload: a value with a repeated part.
type member struct {
	name, before, part string
	times              int
	after              string
}

// packed encodes a release with the member as Helm does, so that it fits into a Secret. The repeated part is
// compressed once: separately compressed parts decompress to one text.
func (m member) packed(t *testing.T) []byte {
	t.Helper()
	const chunk = 1 << 14
	var zipped bytes.Buffer
	compress := func(text string) {
		w := gzip.NewWriter(&zipped)
		_, err := w.Write([]byte(text))
		check.NoError(t, err)
		check.NoError(t, w.Close())
	}
	compress(strings.Repeat(m.part, chunk))
	repeated := slices.Clone(zipped.Bytes())
	zipped.Reset()
	compress(`{"` + m.name + `":` + m.before)
	zipped.Write(bytes.Repeat(repeated, m.times/chunk))
	compress(m.after + "," + strings.TrimPrefix(detailed, "{"))
	payload := []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))
	check.Must(t, len(payload) <= 1<<20, "the payload has %d bytes, more than a Secret", len(payload))
	return payload
}

// spent returns the MiB allocated by decode in total: a measure of work without a clock.
func spent(decode func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decode()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// Payloads of some KiB that would take gigabytes are refused, by the decoders of the operator, the commands and the
// page.
func TestPayloadsThatExhaustMemory(t *testing.T) {
	for name, test := range map[string]struct {
		member member
		// both is refused by both decoders, details only by that of details
		both, details string
	}{
		"a manifest": {member{"manifest", `"`, "a", 24 << 20, `"`}, "one value in it has more than 20971520 bytes", ""},
		"a name":     {member{"namespace", `"`, "a", 24 << 20, `"`}, "one value in it has more than 20971520 bytes", ""},
		"a template": {member{"chart", `{"templates":[{"data":"`, "a", 24 << 20, `"}]}`},
			"one value in it has more than 20971520 bytes", ""},
		"resources": {member{"info", `{"resources":{"a":[`, "{},", 4 << 20, `{}]}}`}, "", ""},
		"keywords":  {member{"chart", `{"metadata":{"keywords":[`, `"",`, 4 << 20, `""]}}`}, "", ""},
		"values":    {member{"config", `{"a":[`, "{},", 4 << 20, `{}]}`}, "", "more than 262144 elements"},
		"hooks":     {member{"hooks", `[`, "{},", 4 << 20, `{}]`}, "", "more than 10000 hooks"},
		"one hook's events": {member{"hooks", `[{"events":[`, `"",`, 6 << 20, `""]}]`}, "",
			"one value in it has more than 4194304 bytes"},
		"all of it": {member{"chart", `{`, `"files":[` + strings.Repeat("{},", 20) + `{}],`, 1 << 19, `"values":{}}`},
			"it decompresses to more than 33554432 bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			payload := test.member.packed(t)
			check := func(decoder, want string, mib uint64, err error) {
				t.Helper()
				check.That(t,
					(want != "" || err == nil) && (want == "" || errors.Is(err, release.ErrTooLarge) &&
						strings.Contains(err.Error(), want)), "%s: error is %v, want %q", decoder, err, want)
				check.That(t, mib <= 120, "%s: %d MiB for a payload of %d KiB", decoder, mib, len(payload)>>10)
			}
			var err error
			mib := spent(func() { _, err = release.Decode(payload, release.DefaultLimit, nil) })
			check("of locks", test.both, mib, err)
			mib = spent(func() { _, err = Decode(payload, release.DefaultLimit) })
			check("of details", test.both+test.details, mib, err)
		})
	}
}
