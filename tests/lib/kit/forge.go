package kit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// ForgedRecord is a release record not written by Helm, for contents that Helm cannot be made to write. Zero fields
// get Helm's values for revision 1, deployed, in the Apps namespace.
type ForgedRecord struct {
	Name     string
	Revision int
	Status   string
	Manifest string
	// Namespace is the namespace in the payload; empty for Apps, the namespace of the record.
	Namespace string
	// Labels replace those of the same name; an empty value removes one.
	Labels map[string]string
	// Payload, when not nil, is stored instead of the encoded record.
	Payload []byte
	// NoData leaves the payload's key out.
	NoData bool
	// Storage is where the record is stored.
	Storage release.Storage
}

// payload encodes a record as Helm does, up to and including Helm's own base64.
func (r ForgedRecord) payload(namespace string) ([]byte, error) {
	record, err := json.Marshal(map[string]any{
		"name": r.Name, "namespace": namespace, "version": r.Revision, "manifest": r.Manifest,
		"info":  map[string]any{"status": r.Status, "description": "forged by a test"},
		"chart": map[string]any{"metadata": map[string]any{"name": r.Name, "version": "0.1.0", "apiVersion": "v2"}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return EncodePayload(record)
}

// EncodePayload compresses and encodes the bytes of a record as Helm does.
func EncodePayload(record []byte) ([]byte, error) { return EncodeMembers(Compressed{Content: record}) }

// Compressed is content compressed once and repeated Times times (once when 0) in a payload.
type Compressed struct {
	Content []byte
	Times   int
}

// EncodeMembers is EncodePayload for content too large to compress in a test: a sequence of compressed members
// decompresses to one stream.
func EncodeMembers(members ...Compressed) ([]byte, error) {
	var all []byte
	for _, member := range members {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(member.Content); err != nil {
			return nil, fmt.Errorf("compress a record: %w", err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("compress a record: %w", err)
		}
		all = append(all, bytes.Repeat(zipped.Bytes(), max(1, member.Times))...)
	}
	return []byte(base64.StdEncoding.EncodeToString(all)), nil
}

// Forge writes a release record, in place of one of the same name.
func (e *Env) Forge(r ForgedRecord) *unstructured.Unstructured {
	e.Helper()
	r.Revision, r.Status = cmp.Or(r.Revision, 1), cmp.Or(r.Status, "deployed")
	labels := map[string]string{"owner": "helm", "name": r.Name, "version": strconv.Itoa(r.Revision),
		"status": r.Status, "createdAt": strconv.FormatInt(time.Now().Unix(), 10)}
	for label, value := range r.Labels {
		labels[label] = value
		if value == "" {
			delete(labels, label)
		}
	}
	payload := r.Payload
	if payload == nil {
		var err error
		payload, err = r.payload(cmp.Or(r.Namespace, e.Apps))
		check.NoError(e, err)
	}
	record := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": r.Storage.Kind()}}
	record.SetName(release.ObjectName(r.Name, r.Revision))
	record.SetLabels(labels)
	data := string(payload)
	if r.Storage == release.Secrets {
		record.Object["type"] = release.SecretType
		data = base64.StdEncoding.EncodeToString(payload)
	}
	if !r.NoData {
		record.Object["data"] = map[string]any{release.DataKey: data}
	}
	client := e.In(r.Storage.GVR(), e.Apps)
	stored, err := client.Create(e.Ctx, record, metav1.CreateOptions{FieldManager: "helm"})
	if apierrors.IsAlreadyExists(err) {
		stored, err = client.Update(e.Ctx, record, metav1.UpdateOptions{FieldManager: "helm"})
	}
	check.NoError(e, err)
	return stored
}
