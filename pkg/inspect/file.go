package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

// maxFile bounds the bytes read from a file. No dump of a release's objects comes near it.
const maxFile = 512 << 20

// wanted describes the expected content of a file.
const wanted = "a record of Helm (kubectl get secret NAME -o yaml, or kubectl get configmap NAME -o yaml) " +
	"or its payload"

// Saved is the content of a file: release records, and other objects.
type Saved struct {
	// Name names the file in errors.
	Name    string
	Objects []*unstructured.Unstructured

	records  []release.Record
	payloads map[release.Record][]byte
	bare     *whole.Release
}

// ReadSaved reads a file with release records: Secrets or ConfigMaps as kubectl prints them (YAML or JSON, several, or
// a List), or a single payload, with or without its base64 encodings. Name is for errors. They never quote the file.
func ReadSaved(r io.Reader, name string) (*Saved, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	saved := &Saved{Name: name, payloads: map[release.Record][]byte{}}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, fmt.Errorf(
			"%s is empty; it must hold "+wanted, name,
		)
	}
	if payload, ok := barePayload(content); ok {
		saved.bare, err = decode(payload, name)
		return saved, err
	}
	if err := saved.parse(content); err != nil {
		return nil, err
	}
	return saved, nil
}

var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// barePayload returns the payload as release.Decode takes it, when the file is a payload: in Kubernetes' base64
// over Helm's, in Helm's alone, compressed, or plain JSON.
func barePayload(content []byte) ([]byte, bool) {
	content = bytes.TrimSpace(content)
	encoded := func(plain []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(plain)) }
	if bytes.HasPrefix(content, gzipMagic) {
		return encoded(content), true
	}
	if content[0] == '{' {
		// A release has no kind, and every API object has one.
		var members map[string]json.RawMessage
		if err := json.Unmarshal(content, &members); err != nil || members["kind"] != nil {
			return nil, false
		}
		return encoded(content), true
	}
	plain, err := base64.StdEncoding.DecodeString(string(content))
	if err != nil {
		return nil, false
	}
	if bytes.HasPrefix(plain, gzipMagic) || bytes.HasPrefix(plain, []byte("{")) {
		return content, true
	}
	return plain, true
}

func (s *Saved) parse(content []byte) error {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for n := 1; ; n++ {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var object map[string]any
		if err == nil && len(raw.Raw) > 0 {
			err = utiljson.Unmarshal(raw.Raw, &object)
		}
		if err != nil {
			// The parser's own words may quote the file.
			return fmt.Errorf(
				"document %d of %s is neither YAML nor JSON; it must hold "+wanted, n, s.Name,
			)
		}
		if object == nil {
			continue
		}
		if err := s.add(&unstructured.Unstructured{Object: object}); err != nil {
			return err
		}
	}
}

func (s *Saved) add(object *unstructured.Unstructured) error {
	if object.IsList() {
		return object.EachListItem(func(item runtime.Object) error {
			child, ok := item.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("an item of a List in %s is not an object", s.Name)
			}
			return s.add(child)
		})
	}
	storage, payload, err := s.payload(object)
	if err != nil {
		return err
	}
	if payload == nil {
		s.Objects = append(s.Objects, object)
		return nil
	}
	record, err := storage.RecordOf(object)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	s.records = append(s.records, record)
	s.payloads[record] = payload
	return nil
}

// payload returns the storage and the payload of a record, and nil for any other object.
func (s *Saved) payload(object *unstructured.Unstructured) (release.Storage, []byte, error) {
	var err error
	switch {
	case object.GetKind() == "Secret" && object.Object["type"] == release.SecretType:
		var secret corev1.Secret
		if err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &secret); err == nil {
			return release.Secrets, append([]byte{}, secret.Data[release.DataKey]...), nil
		}
	case object.GetKind() == "ConfigMap" && object.GetLabels()[release.OwnerLabel] == release.OwnerHelm &&
		release.ConfigMaps.MayBeRecord(object):
		var configMap corev1.ConfigMap
		if err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &configMap); err == nil {
			return release.ConfigMaps, []byte(configMap.Data[release.DataKey]), nil
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %s %s is not what kubectl prints of one", s.Name, object.GetKind(), object.GetName())
	}
	return 0, nil, err
}

// Find returns a release of the file. Key and revision choose among several; an empty name, an empty namespace and
// revision 0 match all. The error is a *NotFoundError when nothing matches.
func (s *Saved) Find(key release.Key, revision int) (*whole.Release, error) {
	fits := func(k release.Key) bool {
		return (key.Name == "" || k.Name == key.Name) && (key.Namespace == "" || k.Namespace == key.Namespace)
	}
	if s.bare != nil {
		if !fits(s.bare.Key) || revision != 0 && revision != s.bare.Revision {
			return nil, fmt.Errorf("%s holds revision %d of release %s and nothing else", s.Name, s.bare.Revision,
				s.bare.Key)
		}
		return s.bare, nil
	}
	var records []release.Record
	keys := map[release.Key]bool{}
	for _, record := range s.records {
		if fits(record.Key) {
			records = append(records, record)
			keys[record.Key] = true
		}
	}
	switch {
	case len(s.records) == 0:
		return nil, fmt.Errorf("%s holds no release record: it needs a Secret of type %s, a ConfigMap that Helm keeps "+
			"one in, or the payload of one", s.Name, release.SecretType)
	case len(keys) == 0:
		return nil, &NotFoundError{Key: key, Source: s.Name, Similar: s.similar(key)}
	case len(keys) > 1:
		return nil, fmt.Errorf("%s holds several releases: %s; name one, and its namespace with -n", s.Name, list(keys))
	}
	record, err := pick(records[0].Key, records, revision)
	if err != nil {
		return nil, err
	}
	return decode(s.payloads[record], s.Name)
}

func (s *Saved) similar(key release.Key) []release.Key {
	keys := map[release.Key]bool{}
	for _, record := range s.records {
		keys[record.Key] = true
	}
	return Similar(key, keys)
}

func list(keys map[release.Key]bool) string {
	var names []string
	for key := range keys {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
