package drift

import (
	"fmt"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDigestChangesWithContentOnly(t *testing.T) {
	h := NewHasher()
	base := h.Digest(obj(t, deploymentLive))
	for name, tc := range map[string]struct {
		edit edit
		same bool
	}{
		"the same content":                   {same: true},
		"another status":                     {edit{"readyReplicas: 2", "readyReplicas: 1"}, true},
		"another resourceVersion":            {edit{`"4711"`, `"4712"`}, true},
		"another generation":                 {edit{"generation: 3\n", "generation: 4\n"}, true},
		"another uid":                        {edit{"uid: 0b0f", "uid: 0b10"}, true},
		"another manager":                    {edit{"manager: helm, op", "manager: x, op"}, false},
		"no managed fields":                  {edit{"  managedFields: [{manager: helm, operation: Update}]\n", ""}, false},
		"another label":                      {edit{"team: blue", "team: red"}, false},
		"another replica count":              {edit{"replicas: 2\n  sel", "replicas: 3\n  sel"}, false},
		"a deletion timestamp":               {edit{"uid: 0b0f", "deletionTimestamp: x"}, false},
		"another list order":                 {edit{`args: [--port, "80"]`, `args: ["80", --port]`}, false},
		"a key with the value of another":    {edit{"app: web, team: blue", "app: blue, team: web"}, false},
		"a number in place of text":          {edit{`[--port, "80"]`, `[--port, 80]`}, false},
		"an empty map in place of an absent": {edit{"periodSeconds: 10,", "periodSeconds: 10, exec: {},"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.Digest(obj(t, tc.edit.apply(t, deploymentLive)))
			check.That(t, (got == base) == tc.same, "same digest: %v", got == base)
		})
	}
}

func TestDigestSeesEveryTampering(t *testing.T) {
	h := NewHasher()
	o := obj(t, deployment)
	seen := map[uint64]string{h.Digest(o): "nothing"}
	for _, s := range sitesOf(o, nil, nil) {
		tampered := clone(o)
		tamper(tampered, s)
		d, what := h.Digest(tampered), fmt.Sprint(s)
		if other, taken := seen[d]; taken && s.op == "mutate" {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
}

func TestDigestsOfDifferentHashersDiffer(t *testing.T) {
	o := obj(t, deployment)
	one, other := NewHasher(), NewHasher()
	check.That(t, one.Digest(o) != other.Digest(o), "the digest does not depend on the seed")
}

// checkDigestJSON is the property: a decodable text has the digest of the decoded object.
func checkDigestJSON(t *testing.T, h Hasher, text []byte) {
	t.Helper()
	var live map[string]any
	if utiljson.Unmarshal(text, &live) != nil || live == nil {
		return
	}
	got, err := h.DigestJSON(text)
	check.Must(t, err == nil, "%v: %s", err, text)
	want := h.Digest(live)
	check.Must(t, got == want, "digest %x of the text, %x of the decoded object: %s", got, want, text)
}

// oddObjects are objects as no API server sends them, and some that it does.
var oddObjects = []string{
	`{}`, ` { } `, `{"status":{"a":1}}`, `{"metadata":null}`, `{"metadata":[]}`, `{"metadata":"x","status":1}`,
	`{"metadata":{}}`,
	`{"metadata":{"uid":"u","resourceVersion":"1","generation":1,"managedFields":[{"a":"]}\""}],"creationTimestamp":null,"selfLink":""}}`,
	`{"metadata":{"labels":{"uid":"not the server's"}},"spec":{"status":1,"metadata":{"uid":2}}}`,
	`{"a":0,"b":-0,"c":-0.0,"d":1.0,"e":1e3,"f":1E+3,"g":0.1,"h":1e-7}`,
	`{"a":9007199254740993,"b":9223372036854775807,"c":9223372036854775808,"d":-9223372036854775808,"e":4611686018427387904.0}`,
	`{"a":123456789012345678901234567890,"b":1.7976931348623157e308,"c":5e-324,"d":1e999}`,
	`{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":1,"\u0061":2}`, `{"metadata":{"uid":1,"uid":2}}`, `{"l":[{"k":[],"k":{}}]}`,
	`{"status":1,"st\u0061tus":2}`, `{"st\u0061tus":{"a":1}}`, `{"\u006detadata":{"\u0075id":"x","name":"y"}}`,
	`{"a":"\"\\\/\b\f\n\r\t","b":"\u00e9\u20ac\ud83d\ude00","c":"é€😀","d":"\ud83d","e":"\ude00\ud83d","f":"\ud83d\u0041","g":"\ud83d\\u0041"}`,
	"{\"a\":\"\xff\xfe\",\"b\xc3\":1,\"c\":\"\xed\xa0\x80\",\"d\":\"\xe2\x82\"}", "{\"a\xff\":1,\"a\xfe\":2}",
	`{"a":[],"b":[[]],"c":{"d":{}},"e":[null,true,false,"",0],"":{"":[""]}}`,
	" {\n\t\"a\" : [ 1 , 2 ,\r\n { \"b\" : null } ] , \"status\" : [ \"}\" ] }\n",
	`{"a":01}`, `{"a":+1}`, `{"a":.5}`, `{"a":1.}`, `{"a":Inf}`, `{"a":0x1}`, `{"a":1_0}`, `{"a":tru}`, `{"a":}`,
	`{"a"}`, `{"a":1,}`, `{,}`, `{`, ``,
	`{"a":1}x`, `{"a":"`, `{"a":"\`, `{"a":"\u12"}`, `{"a":"\x"}`, `[1]`, `"a"`, `{"status":`, `{"status":}`,
	`{"status":{`, `{"a":[1,2}`, `{1:2}`,
	`{"a":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`, strings.Repeat(`{"a":`, 20000),
	strings.Repeat(`[`, 20000),
}

func TestDigestJSONIsTheDigestOfTheDecodedObject(t *testing.T) {
	h := NewHasher()
	for _, text := range oddObjects {
		checkDigestJSON(t, h, []byte(text))
	}
	for _, text := range []string{deployment, deploymentLive} {
		checkDigestJSON(t, h, []byte(jsonOf(t, obj(t, text))))
	}
	wide := map[string]any{}
	for i := range 100 {
		wide[fmt.Sprint("key ", i)] = []any{int64(i), fmt.Sprint(i), float64(i) / 3, strings.Repeat("<&>", i)}
		checkDigestJSON(t, h, []byte(jsonOf(t, map[string]any{"data": wide})))
	}
}

func TestDigestJSONIsTheDigestOfEveryChartObject(t *testing.T) {
	h := NewHasher()
	for _, o := range corpusObjects(t) {
		checkDigestJSON(t, h, []byte(jsonOf(t, o)))
	}
}

func TestDigestJSONRefusesWhatIsNoObject(t *testing.T) {
	h := NewHasher()
	for _, text := range []string{``, `{`, `[1]`, `{"a":"secret value`, `{"a":1}x`, `{"a":1e999}`} {
		if _, err := h.DigestJSON([]byte(text)); err != ErrUndecodable { //nolint:errorlint // as it is
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzDigestJSON(f *testing.F) {
	for _, text := range oddObjects {
		f.Add([]byte(text))
	}
	h := NewHasher()
	f.Fuzz(func(t *testing.T, text []byte) { checkDigestJSON(t, h, text) })
}

// An object whose content was judged is judged again when other managers own it, and not when a controller writes its
// status, or a manager writes the same again.
func TestI4_OwnershipIsPartOfTheDigest(t *testing.T) {
	h := NewHasher()
	const helm = `{"manager":"helm","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:a":{}}}}`
	digest := func(entries string) uint64 {
		digest, err := h.DigestJSON([]byte(`{"metadata":{"name":"app","managedFields":[` + entries + `]}}`))
		check.NoError(t, err)
		return digest
	}
	for entries, same := range map[string]bool{
		strings.Replace(helm, "01T", "02T", 1): true,
		helm + `,{"manager":"x","operation":"Update","fieldsV1":{"f:status":{}},"subresource":"status"}`: true,
		strings.Replace(helm, `"f:spec"`, `"f:status":{"f:b":{}},"f:spec"`, 1):                           true,
		"":                                     false,
		strings.Replace(helm, "f:a", "f:b", 1): false,
		strings.Replace(helm, "helm", "x", 1):  false,
		helm + `,{"manager":"x","operation":"Apply","fieldsV1":{"f:spec":{"f:a":{}}}}`:                        false,
		helm + `,{"manager":"x","operation":"Update","fieldsV1":{"f:spec":{"f:a":{}}},"subresource":"scale"}`: false,
	} {
		got := digest(entries) == digest(helm)
		check.That(t, got == same, "the same digest: %t, want %t: %s", got, same, entries)
		checkDigestJSON(t, h, []byte(`{"metadata":{"managedFields":[`+entries+`]}}`))
	}
}
