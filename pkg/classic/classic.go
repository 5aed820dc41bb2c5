// Package classic has the metadata that the older operator, by wrangler's apply, wrote on each locked object: a label
// and annotations of an ObjectSet. Wrangler exports all but the copy of the object. The package is pure.
package classic

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/apply"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/release"
)

// The keys of the metadata. Hash is that of the label; the others are annotations.
const (
	Hash           = apply.LabelHash
	ID             = apply.LabelID
	OwnerGVK       = apply.LabelGVK
	OwnerName      = apply.LabelName
	OwnerNamespace = apply.LabelNamespace
	Applied        = apply.LabelApplied
)

// The older operator gave all its sets one name, and owners of one kind that existed only in its memory. The name and
// the namespace of an owner were those of the release.
const (
	SetID     = "object-set-applier"
	ownerKind = "objectSetState"
	ownerAPI  = "internal.cattle.io/v1alpha1"
)

// maxApplied bounds the copy of an object: the API server takes 256 KiB of annotations.
const maxApplied = 128 << 10

// Metadata returns the label and the annotations on the objects of a release, without Applied, which differs from
// object to object.
func Metadata(key release.Key) (labels, annotations map[string]string, err error) {
	owner := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	owner.SetGroupVersionKind(schema.FromAPIVersionAndKind(ownerAPI, ownerKind))
	if labels, annotations, err = apply.GetLabelsAndAnnotations(SetID, owner); err != nil {
		return nil, nil, fmt.Errorf("ObjectSet metadata: %w", err)
	}
	return labels, annotations, nil
}

// Declare declares all of the metadata on a desired object of a release. Applied is a copy of the object, without the
// data of a Secret; an object that is too large for an annotation gets none.
func Declare(desired map[string]any, key release.Key) error {
	labels, annotations, err := Metadata(key)
	if err != nil {
		return err
	}
	declare(desired, "labels", labels)
	delete(declare(desired, "annotations", annotations), Applied)
	applied, err := appliedOf(desired)
	if err != nil {
		return fmt.Errorf("copy of the object: %w", err)
	}
	if len(applied) <= maxApplied {
		declare(desired, "annotations", map[string]string{Applied: applied})
	}
	return nil
}

// declare sets keys in a map of the metadata, and returns that map.
func declare(desired map[string]any, where string, values map[string]string) map[string]any {
	metadata, ok := desired["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		desired["metadata"] = metadata
	}
	all, ok := metadata[where].(map[string]any)
	if !ok {
		all = map[string]any{}
		metadata[where] = all
	}
	for name, value := range values {
		all[name] = value
	}
	return all
}

// appliedOf returns the copy of an object in wrangler's form.
func appliedOf(desired map[string]any) (string, error) {
	if desired["kind"] == "Secret" && desired["apiVersion"] == "v1" {
		desired = maps.Clone(desired)
		delete(desired, "data")
		delete(desired, "stringData")
	}
	text, err := json.Marshal(shortened(desired, false))
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(packed.Bytes()), nil
}

// wholeKeys are the keys by which wrangler finds the elements of a list. It keeps their values whole.
var wholeKeys = map[string]bool{"apiVersion": true, "containerPort": true, "devicePath": true, "ip": true, "kind": true,
	"mountPath": true, "name": true, "port": true, "topologyKey": true, "type": true}

// maxText is the length of the longest text in a copy.
const maxText = 64

// shortened returns a copy of a map with its texts cut, as wrangler cuts them.
func shortened(m map[string]any, ofList bool) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		switch v := value.(type) {
		case map[string]any:
			out[key] = shortened(v, false)
		case []any:
			out[key] = shortenedList(v)
		case string:
			if len(v) > maxText && !(ofList && wholeKeys[key]) {
				v = v[:maxText]
			}
			out[key] = v
		default:
			out[key] = v
		}
	}
	return out
}

func shortenedList(list []any) []any {
	out := make([]any, len(list))
	for i, value := range list {
		switch v := value.(type) {
		case map[string]any:
			out[i] = shortened(v, true)
		case []any:
			out[i] = shortenedList(v)
		default:
			out[i] = v
		}
	}
	return out
}

// IsAt reports whether a pointer (RFC 6901) leads to a key of the metadata.
func IsAt(pointer string) bool {
	key, ok := strings.CutPrefix(pointer, "/metadata/annotations/")
	if !ok {
		key, ok = strings.CutPrefix(pointer, "/metadata/labels/")
	}
	switch strings.ReplaceAll(key, "~1", "/") {
	case Hash, ID, OwnerGVK, OwnerName, OwnerNamespace, Applied:
		return ok
	}
	return false
}
