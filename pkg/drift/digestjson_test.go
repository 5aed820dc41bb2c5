package drift

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// checkDigestJSON is the property: what can be decoded has the digest of what it is decoded to.
func checkDigestJSON(t *testing.T, h Hasher, text []byte) {
	t.Helper()
	var live map[string]any
	if utiljson.Unmarshal(text, &live) != nil || live == nil {
		return
	}
	got, err := h.DigestJSON(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want := h.Digest(live); got != want {
		t.Fatalf("digest %x of the text, %x of the decoded object: %s", got, want, text)
	}
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

// randomJSON returns a value with everything that is awkward about JSON, written in as many ways as there are.
func randomJSON(r *rand.Rand, depth int) string {
	space := []string{"", "", "", " ", "\n\t"}[r.IntN(5)]
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return space + []string{"null", "true", "false"}[r.IntN(3)] + space
	case 1:
		return space + fmt.Sprint(int64(r.Uint64())>>r.IntN(64)) + space
	case 2:
		return space + fmt.Sprintf([]string{"%g", "%e", "%.3f", "%.0f"}[r.IntN(4)], r.NormFloat64()*1e6) + space
	case 3, 4:
		return space + randomString(r) + space
	case 5:
		var elements []string
		for range r.IntN(40) {
			elements = append(elements, randomJSON(r, depth-1))
		}
		return space + "[" + space + strings.Join(elements, ",") + "]" + space
	}
	return space + randomMap(r, depth) + space
}

func randomMap(r *rand.Rand, depth int) string {
	var entries []string
	for range r.IntN(40) {
		entries = append(entries, randomString(r)+":"+randomJSON(r, max(0, depth-1)))
	}
	return "{" + strings.Join(entries, ",") + "}"
}

func randomString(r *rand.Rand) string {
	names := []string{"status", "metadata", "uid", "resourceVersion", "managedFields", "name", "spec"}
	if r.IntN(4) == 0 {
		return `"` + names[r.IntN(len(names))] + `"`
	}
	var b strings.Builder
	for range r.IntN(6) {
		switch r.IntN(6) {
		case 0:
			fmt.Fprintf(&b, `\u%04x`, r.IntN(1<<16))
		case 1:
			b.WriteString(`\` + string(`"\/bfnrt`[r.IntN(8)]))
		case 2:
			b.WriteRune(rune(0x80 + r.IntN(0x10000)))
		case 3:
			b.WriteByte(byte(0x80 + r.IntN(0x80)))
		default:
			b.WriteString([]string{"a", "b", "{", "]", ","}[r.IntN(5)])
		}
	}
	return `"` + b.String() + `"`
}

func TestDigestJSONOfRandomObjects(t *testing.T) {
	h, r := NewHasher(), rand.New(rand.NewPCG(5, 6))
	decoded := 0
	for range 3000 {
		text := []byte(randomMap(r, 3))
		if json.Valid(text) {
			decoded++
		}
		checkDigestJSON(t, h, text)
		if len(text) > 2 { // and what is damaged ends in an error or a digest, not in a panic
			text[r.IntN(len(text))] ^= 1 << r.IntN(8)
			checkDigestJSON(t, h, text)
			checkDigestJSON(t, h, text[:r.IntN(len(text))])
		}
	}
	if decoded < 2500 {
		t.Errorf("only %d texts were JSON", decoded)
	}
}

func FuzzDigestJSON(f *testing.F) {
	for _, text := range oddObjects {
		f.Add([]byte(text))
	}
	h := NewHasher()
	f.Fuzz(func(t *testing.T, text []byte) { checkDigestJSON(t, h, text) })
}

func BenchmarkDigestJSON(b *testing.B) {
	text, h := []byte(jsonOf(b, obj(b, deploymentLive))), NewHasher()
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := h.DigestJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
