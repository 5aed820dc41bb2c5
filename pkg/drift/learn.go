package drift

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Baseline holds the differences that are normal for one desired object: where (a pointer, as in Change.Path) and
// a fingerprint of what is there in the live object. It belongs to exactly that desired object: drop it
// when the release changes. A fingerprint is a hash of the value, so treat the ones of Secrets as such.
type Baseline map[string]uint64

// overrideSeparator stands between the index of a declared list element and the fingerprint of a live one that
// overrides it, in the Baseline entry that accepts that. "~ " cannot occur in a pointer.
const overrideSeparator = "~ "

// additionSuffix ends the key of a Baseline entry that accepts an undeclared field, or stands before the fingerprint
// of an undeclared list element, whose index says little. "~+" cannot occur in a pointer either.
const additionSuffix = "~+"

// Learn returns what canonicalLive, the object as the API server returned it directly after desired was applied,
// differs from desired. Compare with that baseline finds nothing in canonicalLive, and finds a later
// departure of the same paths from what they are there; to be restored to the desired value, of which the server
// makes the learnt one again. opt.Accepted is not used.
//
// In scope Strict, opt.Strict holds the managed fields of canonicalLive, and what others added that is still there was
// put in again, or is what the server puts there.
//
// Never learn from an object that others could have changed since: their changes would be accepted for good.
func Learn(desired, canonicalLive map[string]any, opt Options) Baseline {
	learnt := Baseline{}
	c := comparer{ignore: opt.Ignore, adopted: opt.Adopted, learnt: learnt}
	c.mergeMap(desired, canonicalLive, opt.Schema.root)
	c.withoutOwners(desired, canonicalLive, canonicalLive)
	c.learnNulls(desired, canonicalLive, opt.Schema.root)
	if opt.Strict != nil {
		opt.Strict.learn(desired, canonicalLive, opt, learnt)
	}
	return learnt
}

// accepts reports whether what is at the current path is what was learnt there.
func (c *comparer) accepts(seen func() uint64) bool {
	if len(c.accepted) == 0 {
		return false
	}
	c.buf = appendPointer(c.buf[:0], c.path)
	learnt, ok := c.accepted[string(c.buf)]
	return ok && learnt == seen()
}

// acceptsAt is accepts for a child of the current path.
func (c *comparer) acceptsAt(segment string, seen func() uint64) bool {
	if len(c.accepted) == 0 {
		return false
	}
	c.buf = append(append(appendPointer(c.buf[:0], c.path), '/'), segment...)
	learnt, ok := c.accepted[string(c.buf)]
	return ok && learnt == seen()
}

// fingerprint is a hash of a value for which no second value can be found by trying: it could be put into a live object
// unnoticed. It is the same in every process.
func fingerprint(v any) uint64 { return hashOf("", v) }

// fingerprintAbsent stands for a missing value, in whose place others set the given fields.
func fingerprintAbsent(rivals []string) uint64 { return hashOf("absent", rivals) }

// hashOf hashes the JSON of a value, in which keys are in order and 1.0 is 1.
func hashOf(prefix string, v any) uint64 {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v) // not from JSON
	}
	sum := sha256.Sum256(append([]byte(prefix), text...))
	return binary.BigEndian.Uint64(sum[:])
}
