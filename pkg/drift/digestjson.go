package drift

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/rawjson"
)

// ErrUndecodable is returned for text that is not the JSON of an object. It does not tell why not, because the decoder
// quotes values, and they may be those of a Secret.
var ErrUndecodable = errors.New("the text is not the JSON of an object")

// DigestJSON returns what Digest returns for the object that the JSON text stands for, without decoding it: one
// pass over the text, in which status, managedFields and the like are stepped over. Where the text is something
// that an API server does not send, such as a name that appears twice in a map, it is decoded after all. It fails
// for text that cannot be decoded, as far as that shows in what is hashed.
func (h Hasher) DigestJSON(text []byte) (uint64, error) {
	w := walk{Hasher: h, text: text}
	digest, end, err := w.object(rawjson.Space(text, 0))
	if err == nil && rawjson.Space(text, end) == len(text) {
		return digest, nil
	}
	var live map[string]any
	if utiljson.Unmarshal(text, &live) != nil {
		return 0, ErrUndecodable
	}
	return h.Digest(live), nil
}

// walk is one pass over the text of an object.
type walk struct {
	Hasher
	text    []byte
	scratch []byte // for strings with escapes
	depth   int
}

var (
	errTwice = errors.New("a name appears twice in a map")
	errDeep  = errors.New("nested too deep")
)

// deepest is how deep values are followed. What the decoder of the API machinery refuses is far beyond.
const deepest = 1000

// object is Digest.
func (w *walk) object(i int) (digest uint64, end int, err error) {
	return w.entries(i, func(name []byte, at int) (value uint64, counts bool, end int, err error) {
		switch {
		case string(name) == "status":
			end, err = rawjson.Skip(w.text, at)
			return 0, false, end, err
		case string(name) == "metadata" && at < len(w.text) && w.text[at] == '{':
			value, end, err = w.metadata(at)
		default:
			value, end, err = w.value(at)
		}
		return value, true, end, err
	}, func(sum uint64, entries int) uint64 { return mix(sum, uint64(entries)) })
}

// metadata is Hasher.metadata.
func (w *walk) metadata(i int) (digest uint64, end int, err error) {
	return w.entries(i, func(name []byte, at int) (value uint64, counts bool, end int, err error) {
		switch string(name) {
		case "uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "selfLink":
			end, err = rawjson.Skip(w.text, at)
			return 0, false, end, err
		}
		value, end, err = w.value(at)
		return value, true, end, err
	}, func(sum uint64, _ int) uint64 { return mix(sum, tagMap) })
}

// mapping is Hasher.value for a map.
func (w *walk) mapping(i int) (digest uint64, end int, err error) {
	return w.entries(i, func(_ []byte, at int) (value uint64, counts bool, end int, err error) {
		value, end, err = w.value(at)
		return value, true, end, err
	}, func(sum uint64, entries int) uint64 { return mix(sum+uint64(entries), tagMap) })
}

// entries adds up the entries of a map whose value counts, and finishes the sum with the number of all its entries. The
// name that value gets is only valid until it returns or hashes anything.
func (w *walk) entries(
	i int, value func(name []byte, at int) (uint64, bool, int, error), finish func(uint64, int) uint64,
) (uint64, int, error) {
	var few [32]uint64 // most maps are small, and then this takes no memory
	names := few[:0]
	sum := uint64(0)
	end, err := rawjson.Object(w.text, i, func(name []byte, plain bool, at int) (int, error) {
		name, err := w.unquoted(name, plain)
		if err != nil {
			return at, err
		}
		hashed := maphash.Bytes(w.seed, name)
		names = append(names, hashed)
		v, counts, end, err := value(name, at)
		if counts {
			sum += mix(hashed^tagEntry, v)
		}
		return end, err
	})
	if err == nil && twice(names) {
		err = errTwice
	}
	return finish(sum, len(names)), end, err
}

// twice reports whether a hash is there twice, and with it, most likely, a name. It may change the order of hashes.
func twice(hashes []uint64) bool {
	if len(hashes) > 16 {
		slices.Sort(hashes)
		for i := 1; i < len(hashes); i++ {
			if hashes[i] == hashes[i-1] {
				return true
			}
		}
		return false
	}
	for i := range hashes {
		for j := range i {
			if hashes[i] == hashes[j] {
				return true
			}
		}
	}
	return false
}

// value is Hasher.value.
func (w *walk) value(i int) (digest uint64, end int, err error) {
	if i >= len(w.text) {
		return 0, i, rawjson.ErrSyntax
	}
	switch w.text[i] {
	case '"':
		content, end, plain, err := rawjson.String(w.text, i)
		if err == nil {
			content, err = w.unquoted(content, plain)
		}
		return maphash.Bytes(w.seed, content), end, err
	case '{', '[':
		if w.depth++; w.depth > deepest {
			return 0, i, errDeep
		}
		if w.text[i] == '{' {
			digest, end, err = w.mapping(i)
		} else {
			digest, end, err = w.list(i)
		}
		w.depth--
		return digest, end, err
	}
	if end, err = rawjson.Skip(w.text, i); err != nil {
		return 0, end, err
	}
	digest, err = w.word(w.text[i:end])
	return digest, end, err
}

// list takes two turns, because the number of elements comes first in the hash and last in the text.
func (w *walk) list(i int) (digest uint64, end int, err error) {
	var few [32]uint64
	elements := few[:0]
	end, err = rawjson.Array(w.text, i, func(at int) (int, error) {
		v, end, err := w.value(at)
		elements = append(elements, v)
		return end, err
	})
	sum := uint64(len(elements))
	for _, v := range elements {
		sum = mix(sum, v)
	}
	return mix(sum, tagList), end, err
}

// word hashes a number, true, false or null. Numbers are read as the API machinery decodes them.
func (w *walk) word(word []byte) (uint64, error) {
	switch string(word) {
	case "null":
		return w.bits(0, tagNil), nil
	case "true":
		return w.bits(0, tagTrue), nil
	case "false":
		return w.bits(0, tagFalse), nil
	}
	if !numeric(word) {
		return 0, rawjson.ErrSyntax
	}
	if !bytes.ContainsAny(word, ".eE") {
		if n, err := strconv.ParseInt(string(word), 10, 64); err == nil {
			return w.bits(uint64(n), tagInt), nil
		}
	}
	f, err := strconv.ParseFloat(string(word), 64)
	if err != nil {
		return 0, err
	}
	if whole, ok := wholeNumber(f); ok {
		return w.bits(uint64(whole), tagInt), nil
	}
	return w.bits(math.Float64bits(f), tagFloat), nil
}

// numeric reports whether a word begins as numbers of JSON do and holds nothing that no such number has. ParseFloat
// is more generous: it takes "Inf", "0x1p2", "1_000" and "+1".
func numeric(word []byte) bool {
	for _, c := range word {
		if (c < '0' || c > '9') && strings.IndexByte("+-.eE", c) < 0 {
			return false
		}
	}
	return word[0] != '+' && word[0] != '.'
}

// unquoted returns the text that the content of a string stands for. It is valid until the next call.
func (w *walk) unquoted(content []byte, plain bool) ([]byte, error) {
	if plain && utf8.Valid(content) {
		return content, nil
	}
	var err error
	w.scratch, err = rawjson.Unquote(w.scratch[:0], content)
	return w.scratch, err
}
