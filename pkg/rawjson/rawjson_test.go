package rawjson

import (
	"encoding/json"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// parts takes a value apart by Walk and puts it together again by encoding/json.
func parts(t *testing.T, text []byte, i int) (value any, end int, err error) {
	t.Helper()
	switch {
	case i < len(text) && text[i] == '{':
		m := map[string]any{}
		end, err = Walk(text, i, func(name []byte, at int) (end int, err error) {
			m[string(name)], end, err = parts(t, text, at)
			return end, err
		})
		return m, end, err
	case i < len(text) && text[i] == '[':
		l := []any{}
		end, err = Walk(text, i, func(_ []byte, at int) (int, error) {
			v, end, err := parts(t, text, at)
			l = append(l, v)
			return end, err
		})
		return l, end, err
	}
	if end, err = Skip(text, i); err == nil {
		err = json.Unmarshal(text[i:end], &value)
	}
	return value, end, err
}

func TestObjectsAndListsAreTakenApart(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` [ ] `, `{ "a" : [ 1 , { "b" : null } , "x,]}" ] , "\u0062\"":"\\" , "c":-1.5e3 , "d":[[],{}] }`,
		`"a"`, ` true `, `12`,
	} {
		var want any
		check.NoError(t, json.Unmarshal([]byte(text), &want))
		i := Space([]byte(text), 0)
		got, end, err := parts(t, []byte(text), i)
		check.Must(t, err == nil && Space([]byte(text), end) == len(text), "%s: ends at %d, %v", text, end, err)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		check.Equal(t, string(a), string(b), "%s: got %s, want %s", text, a, b)
		skipped, err := Skip([]byte(text), i)
		check.That(t, err == nil && skipped == end, "%s: skipped to %d, not %d: %v", text, skipped, end, err)
	}
}

func TestWhatEndsTooEarlyIsAnError(t *testing.T) {
	text := []byte(`{"a":["x\"y",{"b":"c"}],"d":"e"}`)
	for i := range text {
		_, err := Skip(text[:i], 0)
		check.That(t, err != nil, "%s is skipped", text[:i])
		_, _, err = parts(t, text[:i], 0)
		check.That(t, err != nil, "%s is taken apart", text[:i])
	}
}

func FuzzSkip(f *testing.F) {
	for _, text := range []string{`{"a":[1,"x"]}`, `"\u12`, `[{]}`, `{"a" 1}`, `-`, `\`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		end, err := Skip(text, Space(text, 0))
		if json.Valid(text) && (err != nil || Space(text, end) != len(text)) {
			t.Errorf("%q: ends at %d, %v", text, end, err)
		}
		if err == nil && end > len(text) {
			t.Errorf("%q: ends at %d", text, end)
		}
	})
}
