package witness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
)

// stored is a record as admission shows it.
type stored struct {
	release.Record
	payload []byte
}

func storedOf(r *admissionv1.AdmissionRequest, raw []byte) (*stored, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	storage, meta, s := release.Secrets, metav1.ObjectMeta{}, &stored{}
	var err error
	if r.Resource.Resource == release.ConfigMaps.GVR().Resource {
		storage = release.ConfigMaps
		cm := corev1.ConfigMap{}
		err = json.Unmarshal(raw, &cm)
		meta, s.payload = cm.ObjectMeta, []byte(cm.Data[release.DataKey])
	} else {
		secret := corev1.Secret{}
		err = json.Unmarshal(raw, &secret)
		meta, s.payload = secret.ObjectMeta, secret.Data[release.DataKey]
	}
	if err != nil {
		return nil, errors.New("the object is not readable")
	}
	s.Record, err = storage.RecordOf(&meta)
	return s, err
}

// equals reports whether a write keeps the status and the payload of a record.
func (s *stored) equals(after *stored) bool {
	return s.Status == after.Status && bytes.Equal(s.payload, after.payload)
}

// sameContent reports whether a write keeps the status and the digest of a record.
func (h *hearing) sameContent(ctx context.Context, before, after *stored) (bool, error) {
	if before == nil || before.Status != after.Status {
		return false, nil
	}
	if before.equals(after) {
		return true, nil
	}
	old, err := h.decode(ctx, before)
	if err != nil {
		return false, nil //nolint:nilerr // an unreadable record has no content to keep
	}
	now, err := h.decode(ctx, after)
	if err != nil {
		return false, err
	}
	return trust.Digest(before.Key.Namespace, old) == trust.Digest(after.Key.Namespace, now), nil
}

// decode decodes a record.
func (h *hearing) decode(ctx context.Context, s *stored) (*release.Release, error) {
	rel, err := h.reading.Decode(ctx, s.Record, s.payload)
	if err != nil {
		return nil, err
	}
	return rel, ctx.Err() // perhaps while this waited for others
}
