package drift

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/rawjson"
)

// Hasher makes digests of the content of live objects. It leaves out the kind, which does not change, the status and,
// in metadata, uid, resourceVersion, generation, creationTimestamp and selfLink. Of managedFields it includes the
// owners of fields, without those of the status. An object with the digest of a judged one needs no second judgement.
//
// A digest is one pass over the JSON text of the API server, independent of the order of its maps. Most events of a
// watch carry only a new status, and decoding all of them would take several times the processor time. The seed is
// random, so digests of different hashers are unrelated, and no user can prepare an object with the digest of another.
// Make one per process with NewHasher; it is safe for concurrent use.
type Hasher struct{ seed maphash.Seed }

// NewHasher returns a hasher with a new seed.
func NewHasher() Hasher { return Hasher{seed: maphash.MakeSeed()} }

// ErrUndecodable is the error for text that is not the JSON of an object. It gives no reason, because the decoder
// quotes values, and they may be those of a Secret.
var ErrUndecodable = errors.New("the text is not the JSON of an object")

// DigestJSON returns the digest of an object by its JSON text. It fails if the hashed part cannot be decoded.
func (h Hasher) DigestJSON(text []byte) (uint64, error) {
	if digest, ok := h.walk(text); ok {
		return digest, nil
	}
	var live map[string]any
	if utiljson.Unmarshal(text, &live) != nil {
		return 0, ErrUndecodable
	}
	return h.Digest(live), nil
}

// Digest returns the digest of a decoded object.
func (h Hasher) Digest(live map[string]any) uint64 {
	if text, err := json.Marshal(live); err == nil {
		if digest, ok := h.walk(text); ok {
			return digest
		}
	}
	return rand.Uint64() // of what was not decoded from JSON: judged whenever it changes
}

func (h Hasher) walk(text []byte) (digest uint64, ok bool) {
	w := walk{Hasher: h, text: text}
	start := rawjson.Space(text, 0)
	if start == len(text) || text[start] != '{' {
		return 0, false
	}
	digest, end, err := w.collection(start, w.topLevel)
	return digest, err == nil && rawjson.Space(text, end) == len(text)
}

// Tags keep values of different types apart. They are random bits without meaning.
const (
	tagString uint64 = 0x9e3779b97f4a7c15
	tagWord   uint64 = 0xd6e8feb86659fd93
	tagMap    uint64 = 0xe7037ed1a0b428db
	tagList   uint64 = 0x8ebc6af09c88c6e3
)

// walk is one pass over the text of an object.
type walk struct {
	Hasher
	text  []byte
	depth int
}

// hash returns the digest of a value and its end. counts is false for a value outside of the digest.
type hash func(name []byte, at int) (digest uint64, counts bool, end int, err error)

func (w *walk) topLevel(name []byte, at int) (digest uint64, counts bool, end int, err error) {
	switch {
	case string(name) == "status", string(name) == "kind", string(name) == "apiVersion":
		end, err = rawjson.Skip(w.text, at)
		return 0, false, end, err
	case string(name) == "metadata" && at < len(w.text) && w.text[at] == '{':
		digest, end, err = w.collection(at, w.metadata)
		return digest, true, end, err
	}
	return w.content(name, at)
}

func (w *walk) metadata(name []byte, at int) (digest uint64, counts bool, end int, err error) {
	switch string(name) {
	case "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink":
		end, err = rawjson.Skip(w.text, at)
		return 0, false, end, err
	case "managedFields":
		if at < len(w.text) && w.text[at] == '[' {
			digest, end, err = w.collection(at, w.managed)
			return digest, true, end, err
		}
	}
	return w.content(name, at)
}

// managed hashes an entry of managedFields: the owners of fields, without their times. A controller writes the status
// by the minute, so its entry does not count.
func (w *walk) managed(_ []byte, at int) (digest uint64, counts bool, end int, err error) {
	if at >= len(w.text) || w.text[at] != '{' {
		return w.content(nil, at)
	}
	status := false
	end, err = rawjson.Walk(w.text, at, func(name []byte, at int) (int, error) {
		if string(name) != "subresource" || at >= len(w.text) || w.text[at] != '"' {
			return rawjson.Skip(w.text, at)
		}
		content, end, err := rawjson.String(w.text, at)
		status = string(content) == "status"
		return end, err
	})
	if err != nil || status {
		return 0, false, end, err
	}
	digest, end, err = w.collection(at, func(name []byte, at int) (uint64, bool, int, error) {
		switch {
		case string(name) == "time":
			end, err := rawjson.Skip(w.text, at)
			return 0, false, end, err
		case string(name) == "fieldsV1" && at < len(w.text) && w.text[at] == '{':
			digest, end, err := w.collection(at, w.ownedField)
			return digest, true, end, err
		}
		return w.content(name, at)
	})
	return digest, true, end, err
}

func (w *walk) ownedField(name []byte, at int) (digest uint64, counts bool, end int, err error) {
	if string(name) == "f:status" {
		end, err = rawjson.Skip(w.text, at)
		return 0, false, end, err
	}
	return w.content(name, at)
}

func (w *walk) content(_ []byte, at int) (digest uint64, counts bool, end int, err error) {
	digest, end, err = w.value(at)
	return digest, true, end, err
}

var (
	errTwice = errors.New("a name appears twice in a map")
	errDeep  = errors.New("nested too deep")
)

// deepest is how deep values are followed: as deep as the decoder follows them.
const deepest = 10000

// collection hashes a map or a list. It adds the entries of a map, so that their order does not matter; the keyed hash
// in each keeps the sums unpredictable. A repeated name is an error: the decoder takes the last one.
func (w *walk) collection(i int, value hash) (sum uint64, end int, err error) {
	if w.depth++; w.depth > deepest {
		return 0, i, errDeep
	}
	var few [32]uint64 // most maps are small, and then this takes no memory
	names, list := few[:0], w.text[i] == '['
	end, err = rawjson.Walk(w.text, i, func(name []byte, at int) (int, error) {
		key := maphash.Bytes(w.seed, name)
		digest, counts, end, err := value(name, at)
		if list {
			if counts {
				sum = mix(sum, digest)
			}
			return end, err
		}
		names = append(names, key)
		if counts {
			sum += mix(key, digest)
		}
		return end, err
	})
	w.depth--
	if list {
		return mix(sum, tagList), end, err
	}
	slices.Sort(names)
	if err == nil && len(slices.Compact(names)) < len(names) {
		err = errTwice
	}
	return mix(sum, tagMap), end, err
}

func (w *walk) value(i int) (digest uint64, end int, err error) {
	if i >= len(w.text) {
		return 0, i, rawjson.ErrSyntax
	}
	switch w.text[i] {
	case '"':
		content, end, err := rawjson.String(w.text, i)
		return maphash.Bytes(w.seed, content) ^ tagString, end, err
	case '{', '[':
		return w.collection(i, w.content)
	}
	if end, err = rawjson.Skip(w.text, i); err != nil {
		return 0, end, err
	}
	word, err := canonical(w.text[i:end])
	return maphash.Bytes(w.seed, word) ^ tagWord, end, err
}

// canonical returns a number as it is written after it was decoded. It returns true, false and null as they are.
func canonical(word []byte) ([]byte, error) {
	if len(word) < 19 && !bytes.ContainsAny(word, "-.eE") || word[0] > '9' {
		return word, nil
	}
	var v any
	if utiljson.Unmarshal(word, &v) != nil {
		return nil, rawjson.ErrSyntax
	}
	if v == 0.0 {
		return []byte("0"), nil // and not "-0"
	}
	return json.Marshal(v)
}

// mix combines two hashes; mix(a, b) and mix(b, a) differ.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2d358dccaa6c78a5, bits.RotateLeft64(b, 23)^0x8bb84b93962eacc9)
	return hi ^ lo ^ a
}
