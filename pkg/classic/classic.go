// Package classic has the metadata that the older operator, by wrangler's apply, wrote on each locked object: a label
// and annotations of an ObjectSet. It is pure.
package classic

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1" //nolint:gosec // wrangler's name of a set, and no secret
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/rancher/helm-locker/pkg/release"
)

// The keys of the metadata. Hash is that of the label; the others are annotations.
const (
	prefix         = "objectset.rio.cattle.io/"
	Hash           = prefix + "hash"
	ID             = prefix + "id"
	OwnerGVK       = prefix + "owner-gvk"
	OwnerName      = prefix + "owner-name"
	OwnerNamespace = prefix + "owner-namespace"
	Applied        = prefix + "applied"
)

// The older operator gave all its sets one name, and owners of one kind that existed only in its memory. The name and
// the namespace of an owner were those of the release.
const (
	SetID     = "object-set-applier"
	ownerKind = "internal.cattle.io/v1alpha1, Kind=objectSetState"
)

// maxApplied bounds the copy of an object: the API server takes 256 KiB of annotations.
const maxApplied = 128 << 10

// Metadata returns the label and the annotations on the objects of a release, without Applied, which differs from
// object to object.
func Metadata(key release.Key) (labels, annotations map[string]string) {
	annotations = map[string]string{ID: SetID, OwnerGVK: ownerKind, OwnerName: key.Name, OwnerNamespace: key.Namespace}
	sum := sha1.Sum([]byte(SetID + ownerKind + key.Name + key.Namespace)) //nolint:gosec // as above
	return map[string]string{Hash: hex.EncodeToString(sum[:])}, annotations
}

// Declare declares all of the metadata on a desired object of a release. Applied is a copy of the object, without the
// data of a Secret; an object that is too large for an annotation gets none.
func Declare(desired map[string]any, key release.Key) error {
	labels, annotations := Metadata(key)
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

// maxCopy bounds the content of an annotation.
const maxCopy = 4 << 20

// IsCurrent reports whether this operator wrote a copy of an object: what the older one applied had no annotation with
// the name of a release.
func IsCurrent(applied string) bool {
	var content struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(applied)))
	return err == nil && json.NewDecoder(io.LimitReader(r, maxCopy)).Decode(&content) == nil &&
		content.Metadata.Annotations[releaseName] != nil
}

// releaseName is Helm's annotation with the name of the release.
const releaseName = "meta.helm.sh/release-name"

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
