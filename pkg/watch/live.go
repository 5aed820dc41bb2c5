package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/rawjson"
)

// Live is a live object as the API server sent it: JSON text that is not decoded, because most of what a watch delivers
// is news of a status, and its digest tells that. Of the metadata, namespace, name and resourceVersion are set, and
// GetAnnotations works; for all else decode it. It is only valid during the call that hands it over.
type Live struct {
	metav1.ObjectMeta
	text   []byte
	buffer *[]byte // where text goes when it is not needed any more; nil for nowhere
}

// buffers are for the texts of watched objects, of which most are needed for a few microseconds.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// largestBuffer is how large a buffer may be that is kept for the next object.
const largestBuffer = 64 << 10

// newLive returns an object with a copy of text.
func newLive(text []byte) *Live {
	l := &Live{}
	if len(text) > largestBuffer {
		l.text = bytes.Clone(text)
		return l
	}
	l.buffer = buffers.Get().(*[]byte)
	*l.buffer = append((*l.buffer)[:0], text...)
	l.text = *l.buffer
	return l
}

// release ends the use of an object: nobody may call its methods any more.
func (l *Live) release() {
	if l.buffer == nil {
		return
	}
	buffers.Put(l.buffer)
	l.buffer, l.text = nil, nil
}

// LargeObject is from how many bytes of JSON on an object is a large one. Hardly any is, but for definitions and
// dashboards.
const LargeObject = 64 << 10

// Large reports whether the object is a large one.
func (l *Live) Large() bool { return len(l.text) > LargeObject }

// IsLarge reports whether a decoded object is a large one. Counted are its texts.
func IsLarge(obj *unstructured.Unstructured) bool { return textsOf(obj.Object) > LargeObject }

func textsOf(value any) (bytes int) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			bytes += len(key) + textsOf(member)
		}
	case []any:
		for _, element := range v {
			bytes += 1 + textsOf(element)
		}
	case string:
		bytes = len(v)
	}
	return bytes
}

// Digest returns the digest of the object, as hasher.Digest does for the decoded one, without decoding it.
func (l *Live) Digest(hasher drift.Hasher) (uint64, error) { return hasher.DigestJSON(l.text) }

// Decode returns the whole object, a new one with every call.
func (l *Live) Decode() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if utiljson.Unmarshal(l.text, &u.Object) != nil {
		return nil, fmt.Errorf("%s/%s: %w", l.Namespace, l.Name, drift.ErrUndecodable)
	}
	return u, nil
}

// GetAnnotations decodes the annotations of the object; nil for none, and for those that are not as they have to be.
func (l *Live) GetAnnotations() map[string]string {
	var annotations map[string]string
	err := entriesOf(l.text, func(name []byte, at int) (int, error) {
		if string(name) != "metadata" {
			return rawjson.Skip(l.text, at)
		}
		return rawjson.Object(l.text, at, func(name []byte, _ bool, at int) (int, error) {
			end, err := rawjson.Skip(l.text, at)
			if err != nil || string(name) != "annotations" {
				return end, err
			}
			if err := json.Unmarshal(l.text[at:end], &annotations); err != nil {
				return end, err
			}
			return end, errFound
		})
	})
	if err != nil && err != errFound { //nolint:errorlint // errFound comes as it is
		return nil
	}
	return annotations
}

// GetObjectKind says nothing: the kind is the one that was asked for.
func (l *Live) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject makes a copy, with a text of its own.
func (l *Live) DeepCopyObject() runtime.Object {
	return &Live{ObjectMeta: *l.DeepCopy(), text: bytes.Clone(l.text)}
}

// errFound ends a walk early.
var errFound = fmt.Errorf("found")

// read fills in what is known of the object from its text.
func (l *Live) read() error {
	err := entriesOf(l.text, func(name []byte, at int) (int, error) {
		if string(name) != "metadata" {
			return rawjson.Skip(l.text, at)
		}
		end, err := rawjson.Object(l.text, at, func(name []byte, _ bool, at int) (end int, err error) {
			switch string(name) {
			case "namespace":
				l.Namespace, end, err = stringAt(l.text, at)
			case "name":
				l.Name, end, err = stringAt(l.text, at)
			case "resourceVersion":
				l.ResourceVersion, end, err = stringAt(l.text, at)
			default:
				end, err = rawjson.Skip(l.text, at)
			}
			if err == nil && l.Name != "" && l.Namespace != "" && l.ResourceVersion != "" {
				err = errFound // before the managed fields, which are most of the metadata
			}
			return end, err
		})
		if err == nil {
			// What comes after the metadata is left to those who need it.
			err = errFound
		}
		return end, err
	})
	if err != nil && err != errFound { //nolint:errorlint // errFound comes as it is
		return fmt.Errorf("read the metadata of an object: %w", err)
	}
	return nil
}

// withKind returns the text of an object with the entries of kind, an object too, put first if it says nothing
// about its kind.
func withKind(text, kind []byte) []byte {
	said := false
	err := entriesOf(text, func(name []byte, at int) (int, error) {
		if said = string(name) == "kind" || string(name) == "apiVersion"; said {
			return at, errFound
		}
		return rawjson.Skip(text, at)
	})
	if said || err != nil { // what is no object shows when it is read
		return text
	}
	rest := text[rawjson.Space(text, 0)+1:]
	if rest[rawjson.Space(rest, 0)] == '}' {
		return kind
	}
	return bytes.Join([][]byte{kind[:len(kind)-1], rest}, []byte(","))
}

// entriesOf walks over the entries of the object that is all of text.
func entriesOf(text []byte, each func(name []byte, at int) (int, error)) error {
	_, err := rawjson.Object(text, rawjson.Space(text, 0),
		func(name []byte, _ bool, at int) (int, error) { return each(name, at) })
	return err
}

// stringAt returns the string at a position of text. Anything else is none.
func stringAt(text []byte, at int) (string, int, error) {
	if at < len(text) && text[at] != '"' {
		end, err := rawjson.Skip(text, at)
		return "", end, err
	}
	content, end, plain, err := rawjson.String(text, at)
	if err == nil && !plain {
		content, err = rawjson.Unquote(nil, content)
	}
	return string(content), end, err
}
