package lock

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Settled is the memory about the objects of a release at one record. It has keyed hashes of the differences between
// the settled form of an object and its manifest. It holds no name and no value, and they cannot be guessed without the
// key. It is immutable.
type Settled struct {
	Record types.UID `json:"record"`
	Key    []byte    `json:"key"`
	// Forms are by a keyed hash of the identity and the desired state. A form begins with a byte, 1 for an excused
	// object; the hashes of its differences follow, in order.
	Forms map[string][]byte `json:"forms,omitempty"`
}

const (
	// maxSettled bounds the bytes of the forms of a release. In JSON they take less than twice as many.
	maxSettled = 256 << 10
	// settledHash is the number of bytes kept of a hash: values cannot be tried without the key.
	settledHash = 8
)

// NewSettled returns a memory for a record, with nothing in it and with a key of its own.
func NewSettled(record types.UID) *Settled {
	s := &Settled{Record: record, Key: make([]byte, sha256.Size)}
	_, _ = rand.Read(s.Key) // never fails
	return s
}

// hash returns a keyed hash of some texts.
func (s *Settled) hash(texts ...string) []byte {
	mac := hmac.New(sha256.New, s.Key)
	for _, text := range texts {
		fmt.Fprintf(mac, "%d:%s", len(text), text)
	}
	return mac.Sum(nil)
}

// name returns the key of an object in Forms.
func (s *Settled) name(o *Object) (string, error) {
	desired, err := o.Desired.JSON()
	if err != nil {
		return "", fmt.Errorf("read the desired state: %w", err)
	}
	sum := s.hash(string(s.Record), o.GVK.Version, o.ID.String(), string(desired))
	return base64.RawURLEncoding.EncodeToString(sum[:2*settledHash]), nil
}

func (s *Settled) difference(name, entry string) []byte { return s.hash(name, entry)[:settledHash] }

// Of returns the memory about an object: a function that reports whether an entry of its baseline was normal, and
// whether it was excused. There is none about an object that was as declared.
func (s *Settled) Of(o *Object) (remembered func(entry string) bool, excused bool, err error) {
	name, err := s.name(o)
	if err != nil {
		return nil, false, err
	}
	form := s.Forms[name]
	if len(form) == 0 {
		return func(string) bool { return false }, false, nil
	}
	known := map[string]bool{}
	for difference := range slices.Chunk(form[1:], settledHash) {
		known[string(difference)] = true
	}
	return func(entry string) bool { return known[string(s.difference(name, entry))] }, form[0] == 1, nil
}

// Settled returns the memory to keep: before, which may be nil, with the new forms. Without new forms, and while
// objects still wait for their first judgement, it returns before.
func (l *Lock) Settled(before *Settled) (*Settled, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	current := before != nil && before.Record == l.Record.UID
	if !l.unsettled && current || slices.ContainsFunc(l.objects, (*state).unjudged) {
		return before, nil
	}
	next := NewSettled(l.Record.UID)
	if before != nil {
		next.Key = before.Key
	}
	forms, size := map[string][]byte{}, 0
	for _, s := range l.objects {
		known := len(s.baseline) > 0
		if !known && (!current || s.judged && !s.reported) {
			continue
		}
		name, err := next.name(s.Object)
		if err != nil {
			return before, err
		}
		var form []byte
		if known {
			form = s.form(next, name)
		} else {
			form = before.Forms[name]
		}
		if size += len(name) + len(form); len(form) > 1 && size <= maxSettled {
			forms[name] = form
		}
	}
	l.unsettled = false
	if next.Forms = forms; current && maps.EqualFunc(before.Forms, forms, bytes.Equal) {
		return before, nil
	}
	return next, nil
}

// form returns the form to remember of a judged object.
func (s *state) form(settled *Settled, name string) []byte {
	var differences [][]byte
	for _, entry := range s.baseline.Entries() {
		differences = append(differences, settled.difference(name, entry))
	}
	slices.SortFunc(differences, bytes.Compare)
	excused := byte(0)
	if s.excused {
		excused = 1
	}
	return append([]byte{excused}, bytes.Join(differences, nil)...)
}
