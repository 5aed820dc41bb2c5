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

// Live is a live object as the API server sent it: JSON text that is not decoded, because most of what a watch delivers
// is news of a status, and its digest tells that. Of the metadata, namespace, name and resourceVersion are set, and
// GetAnnotations works; for all else decode it.
type Live struct {
	metav1.ObjectMeta
	kind        metav1.TypeMeta // of an object whose text does not tell
	text        []byte
	annotations []byte // of text; nil for none
}

// newLive returns the object that text is, of a kind that text may not tell.
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

// largeObject is from how many bytes of JSON on an object is a large one. Hardly any is, but for definitions and
// dashboards.
const largeObject = 64 << 10

// Large reports whether the object is a large one.
func (l *Live) Large() bool { return len(l.text) > largeObject }

// IsLarge reports whether a decoded object is a large one. Counted are its texts.
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

// GetAnnotations decodes the annotations of the object; nil for none, and for those that are not as they have to be.
func (l *Live) GetAnnotations() map[string]string {
	var annotations map[string]string
	if json.Unmarshal(l.annotations, &annotations) != nil {
		return nil
	}
	return annotations
}

// GetObjectKind says nothing: the kind is the one that was asked for.
func (l *Live) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself with metadata of its own: no caller changes its text.
func (l *Live) DeepCopyObject() runtime.Object {
	c := *l
	l.DeepCopyInto(&c.ObjectMeta)
	return &c
}
