package proof

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/release"
)

// Elsewhere returns the records with a release's name in other namespaces than its own: for each namespace the newest
// one in each storage. Only their payloads identify their releases. It leaves out uninstalled releases, and those with
// unreadable records. The answer is no older than the call.
func (v *Verifier) Elsewhere(ctx context.Context, of release.Key) ([]release.Record, error) {
	records, malformed := map[release.Key][]release.Record{}, map[release.Key]bool{}
	for _, storage := range v.storages {
		_, err := ReadRecords(ctx, v.metadata, storage, release.Key{Name: of.Name},
			func(m *metav1.PartialObjectMetadata) (struct{}, error) {
				rec, err := storage.RecordOf(m)
				if err != nil {
					malformed[release.Key{Namespace: m.Namespace, Name: of.Name}] = true // it may be the newest
					return struct{}{}, nil                                               //nolint:nilerr // it owns nothing
				}
				records[rec.Key] = append(records[rec.Key], rec)
				return struct{}{}, nil
			})
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("read the records of releases called %s: %w", of.Name, err)
		}
	}
	var found []release.Record
	for key, all := range records {
		if key != of && !malformed[key] {
			found = append(found, release.NewestOfEach(all)...)
		}
	}
	return found, nil
}
