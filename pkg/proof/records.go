package proof

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Records lists the records of releases in one storage: those of a name, or of all names when it is empty, and of a
// namespace, or of all namespaces when it is empty. It reads metadata only. The answer is no older than the call.
//
// A malformed record is a release.ErrRecord, and ends the list: it may be the newest. A Secret of another type, or a
// ConfigMap of another name, is no record, and cannot unlock a release.
func Records(
	ctx context.Context, client metadata.Interface, storage release.Storage, of release.Key,
) ([]release.Record, error) {
	return ReadRecords(ctx, client, storage, of, func(m *metav1.PartialObjectMetadata) (release.Record, error) {
		return storage.RecordOf(m)
	})
}

// ReadRecords is Records with the results of read for the metadata of each record. An error of read ends the list.
func ReadRecords[R any](
	ctx context.Context, client metadata.Interface, storage release.Storage, of release.Key,
	read func(*metav1.PartialObjectMetadata) (R, error),
) ([]R, error) {
	selector, err := release.Selector(of.Name)
	if err != nil {
		return nil, err
	}
	options := metav1.ListOptions{LabelSelector: selector, FieldSelector: storage.FieldSelector()}
	found, err := ListMetadata(ctx, client.Resource(storage.GVR()).Namespace(of.Namespace), options,
		func(m *metav1.PartialObjectMetadata) (*R, error) {
			if !storage.MayBeRecord(m) {
				return nil, nil
			}
			one, err := read(m)
			return &one, err
		})
	var records []R
	for _, one := range found {
		if one != nil {
			records = append(records, *one)
		}
	}
	return records, err
}

// Payload reads the object of a record, and returns its metadata and the payload for release.DecodeRecord; nil when
// it has none.
func Payload(
	ctx context.Context, client kubernetes.Interface, rec release.Record,
) (meta *metav1.ObjectMeta, payload []byte, err error) {
	if rec.Storage == release.ConfigMaps {
		stored, err := client.CoreV1().ConfigMaps(rec.Key.Namespace).Get(ctx, rec.ObjectName, metav1.GetOptions{})
		if err != nil {
			return nil, nil, fmt.Errorf("get %s: %w", rec.Object(), err)
		}
		return &stored.ObjectMeta, []byte(stored.Data[release.DataKey]), nil
	}
	stored, err := client.CoreV1().Secrets(rec.Key.Namespace).Get(ctx, rec.ObjectName, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("get %s: %w", rec.Object(), err)
	}
	return &stored.ObjectMeta, stored.Data[release.DataKey], nil
}
