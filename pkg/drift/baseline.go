package drift

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Baseline holds the normal differences of one desired object: a pointer, as in Change.Path, and a fingerprint of the
// live value there. It belongs to exactly that desired object: drop it when the release changes. A fingerprint is a
// hash of the value, so treat those of Secrets as secret.
type Baseline map[string]uint64

// overrideSeparator separates the index of a declared list element and the fingerprint of its override, in the Baseline
// entry that accepts the override. "~ " cannot occur in a pointer.
const overrideSeparator = "~ "

// additionSuffix ends the key of a Baseline entry that accepts an undeclared field. For an undeclared list element it
// precedes the fingerprint, because its index is not stable. "~+" cannot occur in a pointer either.
const additionSuffix = "~+"

// absent is a missing value in place of which others set some fields.
type absent []string

// fingerprint is a cryptographic hash of the JSON of a value, in which keys are sorted and 1.0 is written as 1. No user
// can find a second value with the same hash, and so put one into a live object unnoticed. It is the same in every
// process.
func fingerprint(v any) uint64 {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v) // not from JSON
	}
	if _, missing := v.(absent); missing {
		text = append([]byte("absent"), text...)
	}
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}

// hexOf returns the fingerprint of a list element, which is a part of its key in a Baseline: its index is not stable.
func hexOf(v any) string { return strconv.FormatUint(fingerprint(v), 16) }

// Select returns the entries of a baseline that keep accepts.
func (b Baseline) Select(keep func(entry string) bool) Baseline {
	return b.filter(func(key string) bool { return keep(entryOf(key, b[key])) })
}

// filter returns the entries with the keys that keep accepts.
func (b Baseline) filter(keep func(key string) bool) Baseline {
	kept := Baseline{}
	for key, fingerprint := range b {
		if keep(key) {
			kept[key] = fingerprint
		}
	}
	return kept
}

// Entries returns the entries of a baseline in the form for Select, in no order. It leaves out fields declared as null:
// any value of them is normal in the first observation of an object.
func (b Baseline) Entries() []string {
	entries := make([]string, 0, len(b))
	for key, fingerprint := range b {
		if !isNull(key) {
			entries = append(entries, entryOf(key, fingerprint))
		}
	}
	return entries
}

func entryOf(key string, fingerprint uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(key), fingerprint))
}

// At returns the entries of a baseline for the paths of changes.
func (b Baseline) At(changes []Change) Baseline {
	kept := Baseline{}
	for _, ch := range changes {
		if fingerprint, found := b[ch.Path]; found {
			kept[ch.Path] = fingerprint
		}
	}
	return kept
}

// Paths returns the pointers of a baseline, in order. For an addition to a list it is that of the list.
func (b Baseline) Paths() []string {
	paths := make([]string, 0, len(b))
	for key := range b {
		for i := range len(key) - 1 { // within a pointer "~" is followed by 0 or 1
			if key[i] == '~' && key[i+1] != '0' && key[i+1] != '1' {
				key = strings.TrimSuffix(key[:i], "/")
				break
			}
		}
		paths = append(paths, key)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// nullSuffix ends the key of a Baseline entry for the API server's value of a null. "~=" cannot occur in a pointer.
const nullSuffix = "~="

func isNull(key string) bool { return strings.HasSuffix(key, nullSuffix) }

// injectedMark precedes the hash of the merge keys of an injected element in a Baseline. "~=" cannot occur in a
// pointer.
const injectedMark = "~="

func isInjected(key string) bool { return strings.Contains(key, "/"+injectedMark) }

// Injected returns the entries of a baseline for the content of injected list elements.
func (b Baseline) Injected() Baseline { return b.filter(isInjected) }

// WithoutInjected returns the other entries of a baseline. Against these, an injected element has changed only if a
// foreign manager owns a part of it.
func (b Baseline) WithoutInjected() Baseline {
	return b.filter(func(key string) bool { return !isInjected(key) })
}
