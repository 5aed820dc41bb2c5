package watch

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/rawjson"
)

// Live is a live object as sent by the API server: undecoded JSON text. Most events only change a status, and a digest
// of the text shows that without decoding. Namespace, name and resourceVersion of the metadata are set, and
// GetAnnotations works; for all other fields decode it.
type Live struct {
	metav1.ObjectMeta
	kind        metav1.TypeMeta // of an object whose text does not tell
	text        []byte
	annotations []byte // of text; nil for none
}

// newLive returns the object of a text. The kind is given because the text may lack it.
func newLive(text []byte, kind metav1.TypeMeta) (*Live, error) {
	l := &Live{text: text, kind: kind}
	_, err := rawjson.Walk(text, rawjson.Space(text, 0), func(name []byte, at int) (int, error) {
		if string(name) == "metadata" {
			return rawjson.Walk(text, at, l.readMetadata)
		}
		return rawjson.Skip(text, at)
	})
	if err != nil {
		return nil, fmt.Errorf("read the metadata of an object: %w", err)
	}
	return l, nil
}

func (l *Live) readMetadata(name []byte, at int) (end int, err error) {
	var value []byte
	switch string(name) {
	case "namespace":
		value, end, err = rawjson.String(l.text, at)
		l.Namespace = string(value)
	case "name":
		value, end, err = rawjson.String(l.text, at)
		l.Name = string(value)
	case "resourceVersion":
		value, end, err = rawjson.String(l.text, at)
		l.ResourceVersion = string(value)
	case "annotations":
		end, err = rawjson.Skip(l.text, at)
		l.annotations = l.text[at:end]
	default:
		end, err = rawjson.Skip(l.text, at)
	}
	return end, err
}

// largeObject is the size in bytes of JSON from which on an object is large. Hardly any is, except for definitions and
// dashboards.
const largeObject = 64 << 10

// Large reports whether the object is large.
func (l *Live) Large() bool { return len(l.text) > largeObject }

// IsLarge reports whether a decoded object is large, by the size of its texts.
func IsLarge(obj *unstructured.Unstructured) bool { return textsOf(obj.Object) > largeObject }

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
	if utiljson.Unmarshal(l.text, &u.Object) != nil || u.Object == nil {
		return nil, fmt.Errorf("%s/%s: %w", l.Namespace, l.Name, drift.ErrUndecodable)
	}
	if u.GetKind() == "" {
		u.SetAPIVersion(l.kind.APIVersion)
		u.SetKind(l.kind.Kind)
	}
	return u, nil
}

// GetAnnotations decodes the annotations of the object; nil for none, and for invalid ones.
func (l *Live) GetAnnotations() map[string]string {
	var annotations map[string]string
	if json.Unmarshal(l.annotations, &annotations) != nil {
		return nil
	}
	return annotations
}

// GetObjectKind returns an empty kind: callers know the requested one.
func (l *Live) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself with metadata of its own: no caller changes its text.
func (l *Live) DeepCopyObject() runtime.Object {
	c := *l
	l.DeepCopyInto(&c.ObjectMeta)
	return &c
}
