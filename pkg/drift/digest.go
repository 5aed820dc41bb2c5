package drift

import (
	"hash/maphash"
	"math"
	"math/bits"
)

// Hasher makes digests of live objects. Its seed is random: digests of different hashers have nothing to do with
// each other, and nobody can prepare an object that collides with another one. Make one per process with
// NewHasher; it is safe for concurrent use.
type Hasher struct{ seed maphash.Seed }

// NewHasher returns a hasher with a new seed.
func NewHasher() Hasher { return Hasher{seed: maphash.MakeSeed()} }

// Digest hashes the content of a live object, whatever the order of its maps: all of it but status and, in
// metadata, uid, resourceVersion, generation, managedFields, creationTimestamp and selfLink. An object with the
// digest of one that was judged needs no second judgement.
func (h Hasher) Digest(live map[string]any) uint64 {
	var sum uint64
	for key, v := range live {
		if key == "status" {
			continue
		}
		if metadata, ok := v.(map[string]any); ok && key == "metadata" {
			sum += h.entry(key, h.metadata(metadata))
			continue
		}
		sum += h.entry(key, h.value(v))
	}
	return mix(sum, uint64(len(live)))
}

func (h Hasher) metadata(metadata map[string]any) uint64 {
	var sum uint64
	for key, v := range metadata {
		switch key {
		case "uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "selfLink":
			continue
		}
		sum += h.entry(key, h.value(v))
	}
	return mix(sum, tagMap)
}

// Tags keep values of different types apart. They are random bits without meaning.
const (
	tagNil   uint64 = 0x9e3779b97f4a7c15
	tagTrue  uint64 = 0xbf58476d1ce4e5b9
	tagFalse uint64 = 0x94d049bb133111eb
	tagInt   uint64 = 0xd6e8feb86659fd93
	tagFloat uint64 = 0xa0761d6478bd642f
	tagMap   uint64 = 0xe7037ed1a0b428db
	tagList  uint64 = 0x8ebc6af09c88c6e3
	tagEntry uint64 = 0x589965cc75374cc3
)

// entry hashes a key with its value. Entries of a map are added up, which makes their order irrelevant; the keyed
// hash in each keeps the sums unpredictable.
func (h Hasher) entry(key string, value uint64) uint64 {
	return mix(maphash.String(h.seed, key)^tagEntry, value)
}

func (h Hasher) value(v any) uint64 {
	switch x := v.(type) {
	case string:
		return maphash.String(h.seed, x)
	case map[string]any:
		sum := uint64(len(x))
		for key, e := range x {
			sum += h.entry(key, h.value(e))
		}
		return mix(sum, tagMap)
	case []any:
		sum := uint64(len(x))
		for _, e := range x {
			sum = mix(sum, h.value(e))
		}
		return mix(sum, tagList)
	case nil:
		return h.bits(0, tagNil)
	case bool:
		if x {
			return h.bits(0, tagTrue)
		}
		return h.bits(0, tagFalse)
	case float64:
		if whole, ok := wholeNumber(x); ok {
			return h.bits(uint64(whole), tagInt)
		}
		return h.bits(math.Float64bits(x), tagFloat)
	}
	return h.bits(uint64(integer(v)), tagInt)
}

// bits hashes a fixed-size value with the seed.
func (h Hasher) bits(v, tag uint64) uint64 {
	return maphash.Comparable(h.seed, [2]uint64{v, tag})
}

// mix combines two hashes; mix(a, b) and mix(b, a) differ.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2d358dccaa6c78a5, bits.RotateLeft64(b, 23)^0x8bb84b93962eacc9)
	return hi ^ lo ^ a
}
