package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

// NotFoundError reports a release without a record, or without a record of one revision.
type NotFoundError struct {
	Key release.Key
	// Revision is 0 when no revision exists at all.
	Revision int
	// Revisions are the existing ones, newest first.
	Revisions []int
	// Similar suggests releases, best first: those with nearly the same name, or with the same name in another
	// namespace.
	Similar []release.Key
	// Source is the file of the search; empty for the cluster. Storages are those of a search in the cluster.
	Source   string
	Storages []release.Storage
	// Elsewhere names the release's record in a storage that is not in use, such as "ConfigMap apps/NAME"; empty for
	// none.
	Elsewhere string
}

func (e *NotFoundError) Error() string {
	if e.Revision != 0 {
		texts := make([]string, len(e.Revisions))
		for i, revision := range e.Revisions {
			texts[i] = fmt.Sprint(revision)
		}
		return fmt.Sprintf("release %s has no revision %d; it has %s", e.Key, e.Revision, strings.Join(texts, ", "))
	}
	if e.Source != "" {
		return fmt.Sprintf("release %s is not in %s", strings.TrimPrefix(e.Key.String(), "/"), e.Source)
	}
	kinds := make([]string, len(e.Storages))
	for i, storage := range e.Storages {
		kinds[i] = storage.Kind()
	}
	return fmt.Sprintf("release %s does not exist: namespace %q has no record of it in a %s", e.Key, e.Key.Namespace,
		strings.Join(kinds, " or a "))
}

// ContestedError reports a release with records in two storages. Helm reads one of them.
type ContestedError struct{ Key release.Key }

func (e *ContestedError) Error() string {
	return fmt.Sprintf(
		"release %s has records in Secrets and in ConfigMaps; choose one of the two with --release-storage",
		e.Key)
}

// Records returns the records of all releases in a namespace, or in all namespaces when it is empty. A name limits them
// to releases of that name. Only metadata is read. An object with labels that Helm does not write is an error
// (release.ErrRecord): it may hide the newest revision.
func (c *Cluster) Records(ctx context.Context, namespace, name string) ([]release.Record, error) {
	return readRecords(ctx, c, release.Key{Namespace: namespace, Name: name},
		func(storage release.Storage, m *metav1.PartialObjectMetadata) (release.Record, error) {
			return storage.RecordOf(m)
		})
}

// RecordsIn lists the records of all releases in one storage, whether or not the cluster was connected with it.
func (c *Cluster) RecordsIn(
	ctx context.Context, storage release.Storage, namespace string,
) ([]release.Record, error) {
	return proof.Records(ctx, c.metadata, storage, release.Key{Namespace: namespace})
}

// Labelled is a record with all its labels: those of the release and those of Helm's storage.
type Labelled struct {
	release.Record
	Labels map[string]string
	// Err is the release.ErrRecord of an object with labels that Helm does not write, nil for others.
	Err error
}

// Labelled lists the records of all releases with their labels. It returns an invalid record with its error, because
// such a record concerns one release alone.
func (c *Cluster) Labelled(ctx context.Context, namespace string) ([]Labelled, error) {
	return readRecords(ctx, c, release.Key{Namespace: namespace},
		func(storage release.Storage, m *metav1.PartialObjectMetadata) (Labelled, error) {
			record, err := storage.RecordOf(m)
			return Labelled{record, m.Labels, err}, nil
		})
}

// readRecords calls read for each record in the configured storages, and returns the results.
func readRecords[R any](
	ctx context.Context, c *Cluster, of release.Key,
	read func(release.Storage, *metav1.PartialObjectMetadata) (R, error),
) ([]R, error) {
	var records []R
	for _, storage := range c.storages {
		found, err := proof.ReadRecords(ctx, c.metadata, storage, of,
			func(m *metav1.PartialObjectMetadata) (R, error) { return read(storage, m) })
		if err != nil && !errors.Is(err, release.ErrRecord) {
			err = fmt.Errorf("list the release records: %w", err)
		}
		if err != nil {
			return nil, err
		}
		records = append(records, found...)
	}
	return records, nil
}

// Find returns the record of one revision of a release, or the newest when revision is 0. The error is a
// *NotFoundError when there is none.
func (c *Cluster) Find(ctx context.Context, key release.Key, revision int) (release.Record, error) {
	records, err := c.Records(ctx, key.Namespace, key.Name)
	if err != nil {
		return release.Record{}, err
	}
	record, err := pick(key, records, revision)
	var missing *NotFoundError
	if errors.As(err, &missing) && missing.Revision == 0 {
		missing.Similar, missing.Storages = similarTo(ctx, c, key), c.storages
		missing.Elsewhere = elsewhereOf(ctx, c, key)
	}
	return record, err
}

// elsewhereOf returns the name of a release's record outside of the configured storages; empty for none. It completes
// an error message, so it ignores errors.
func elsewhereOf(ctx context.Context, c *Cluster, key release.Key) string {
	for _, storage := range release.Unread(c.storages) {
		records, err := proof.Records(ctx, c.metadata, storage, key)
		if newest, found := release.Newest(records); err == nil && found {
			return newest.Object()
		}
	}
	return ""
}

func pick(key release.Key, records []release.Record, revision int) (release.Record, error) {
	newest, found := release.Newest(records)
	switch {
	case !found:
		return release.Record{}, &NotFoundError{Key: key}
	case newest.Contested:
		return release.Record{}, &ContestedError{Key: key}
	case revision == 0:
		return newest, nil
	}
	missing := &NotFoundError{Key: key, Revision: revision}
	for _, record := range records {
		switch {
		case record.Storage != newest.Storage: // the release is uninstalled there
			continue
		case record.Revision == revision:
			return record, nil
		}
		missing.Revisions = append(missing.Revisions, record.Revision)
	}
	slices.SortFunc(missing.Revisions, func(a, b int) int { return b - a })
	return release.Record{}, missing
}

// Current returns the record to compare with the cluster: the newest deployed one, the result of the last successful
// operation. Without a deployed one it returns the newest record. It returns false when there are no records.
func Current(records []release.Record) (release.Record, bool) {
	deployed := slices.DeleteFunc(slices.Clone(records),
		func(r release.Record) bool { return r.Status != release.StatusDeployed })
	if record, found := release.Newest(deployed); found {
		return record, true
	}
	return release.Newest(records)
}

// Read reads and decodes the payload of a record. A release without a manifest (hooks only) is no error here.
func (c *Cluster) Read(ctx context.Context, record release.Record) (*whole.Release, error) {
	_, payload, err := proof.Payload(ctx, c.kubernetes, record)
	if err != nil {
		return nil, fmt.Errorf("read revision %d of release %s: %w", record.Revision, record.Key, err)
	}
	return decode(payload, record.Object())
}

func decode(payload []byte, from string) (*whole.Release, error) {
	details, err := whole.Decode(payload, release.DefaultLimit)
	if err != nil && !errors.Is(err, release.ErrNoManifest) {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return details, nil
}

// Bounds of similar: the number of results and the edit distance of names.
const (
	mostSimilar = 5
	maxDistance = 3
)

// similar suggests releases for an error message. It ignores errors, and returns none where it may not list records.
func similarTo(ctx context.Context, c *Cluster, key release.Key) []release.Key {
	records, err := c.Records(ctx, "", "")
	if apierrors.IsForbidden(err) {
		records, err = c.Records(ctx, key.Namespace, "")
	}
	if err != nil {
		return nil
	}
	keys := map[release.Key]bool{}
	for _, record := range records {
		keys[record.Key] = true
	}
	return Similar(key, keys)
}

// Similar returns the keys that resemble key, best first: the same name in another namespace, or nearly the same name
// in the same namespace.
func Similar(key release.Key, keys map[release.Key]bool) []release.Key {
	type candidate struct {
		key  release.Key
		cost int
	}
	var candidates []candidate
	for other := range keys {
		cost, similar := resemblance(key.Name, other.Name)
		if similar && (key.Namespace == "" || other.Namespace == key.Namespace || cost == 0) {
			candidates = append(candidates, candidate{other, cost})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.key.String(), b.key.String()))
	})
	var similar []release.Key
	for _, found := range candidates[:min(len(candidates), mostSimilar)] {
		similar = append(similar, found.key)
	}
	return similar
}

// Nearest returns the name that resembles name most; empty for none.
func Nearest(name string, names iter.Seq[string]) (nearest string) {
	least := 0
	for other := range names {
		cost, similar := resemblance(name, other)
		if similar && (nearest == "" || cmp.Or(cmp.Compare(cost, least), cmp.Compare(other, nearest)) < 0) {
			nearest, least = other, cost
		}
	}
	return nearest
}

// resemblance returns the distance of two names, and whether it is small enough for a typing error in the first one. A
// name that contains the other one counts as near.
func resemblance(name, other string) (cost int, similar bool) {
	cost = distance(name, other)
	if cost > 0 && (strings.Contains(other, name) || strings.Contains(name, other)) {
		cost = 1
	}
	return cost, cost <= min(maxDistance, len(name)/2)
}

// distance is the number of characters to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
