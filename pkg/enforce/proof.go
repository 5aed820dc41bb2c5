package enforce

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Prover answers whether a release still is at the record that is locked, as of a moment after it was asked: by a
// metadata-only list of the records of the release, which all that wait at the moment share, or, where lists follow
// each other so quickly that the API server would make them wait, or many releases are asked about, by a watch that
// is known to have come as far. It is safe for concurrent use.
type Prover struct {
	client metadata.Getter
	marker *marker
	work   *background
	// underWay counts the checks that wait for an answer, and the writes.
	underWay atomic.Int32

	mu    sync.Mutex
	reads map[release.Key]*shared[newest]
}

var secretsGVR = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// newest is the newest record of a release, if there is one.
type newest struct {
	record release.Record
	found  bool
}

// NewProver returns a Prover that reads through client. It writes marks for view, a watch of all records, to the
// Secret mark, through secrets; none if that has no name.
func NewProver(
	client metadata.Interface, secrets typedcorev1.SecretsGetter, mark types.NamespacedName, view View,
	log logrus.FieldLogger,
) *Prover {
	p := &Prover{client: client.Resource(secretsGVR), work: newBackground(), reads: map[release.Key]*shared[newest]{}}
	p.marker = &marker{name: mark.Name, view: view, work: p.work, log: log,
		busy: func() int { return int(p.underWay.Load()) }}
	if mark.Name != "" {
		p.marker.client = secrets.Secrets(mark.Namespace)
	}
	return p
}

// Close ends what is still under way for callers that are gone, and waits for it. The Prover must not be used any more.
func (p *Prover) Close() { p.work.Close() }

// Holds reports whether the newest record of the release still is the given one: the same Secret, unchanged. The
// answer is as of a moment after Holds was called.
func (p *Prover) Holds(ctx context.Context, rec release.Record) (bool, error) {
	now, found, err := p.Newest(ctx, rec.Key)
	if err != nil || !found {
		return false, err
	}
	return now.Same(rec), nil
}

// Newest returns the newest record of a release, false when there is none. The answer is as of a moment after
// Newest was called.
func (p *Prover) Newest(ctx context.Context, key release.Key) (release.Record, bool, error) {
	defer p.busy()()
	if p.marker.better() {
		err := p.marker.reach(ctx)
		if ctx.Err() != nil {
			return release.Record{}, false, fmt.Errorf("read the records of release %s: %w", key, ctx.Err())
		}
		if err == nil {
			// What the view cannot tell, a list may: the view also minds what only by its name is a record of the
			// release.
			if rec, found, err := p.marker.view.Current(key); err == nil {
				return rec, found, nil
			}
		}
	}
	p.mu.Lock()
	if p.reads[key] == nil {
		p.reads[key] = &shared[newest]{}
	}
	turn, lead := p.reads[key].join()
	if lead {
		p.reads[key].begin()
	}
	p.mu.Unlock()
	if lead {
		// A read serves others too, so it must not end when who asked first gives up; client timeouts bound it.
		p.work.Go(func(ctx context.Context) { p.lead(ctx, key, turn) })
	}
	answer, err := turn.wait(ctx)
	if err != nil {
		return release.Record{}, false, fmt.Errorf("read the records of release %s: %w", key, err)
	}
	return answer.record, answer.found, nil
}

// busy counts one more check or write until the returned function is called.
func (p *Prover) busy() (done func()) {
	p.underWay.Add(1)
	return func() { p.underWay.Add(-1) }
}

// lead carries out a read, and then the next one as long as anybody joins it.
func (p *Prover) lead(ctx context.Context, key release.Key, t *turn[newest]) {
	for t != nil {
		result, err := p.read(ctx, key)
		p.mu.Lock()
		next := p.reads[key].advance()
		if next == nil {
			delete(p.reads, key)
		} else {
			p.reads[key].begin()
		}
		p.mu.Unlock()
		t.end(result, err)
		t = next
	}
}

func (p *Prover) read(ctx context.Context, key release.Key) (newest, error) {
	p.marker.listing()
	// No resourceVersion: the answer must be at least as new as this moment.
	options := metav1.ListOptions{
		LabelSelector: release.Selector(key.Name),
		// As the watch of records has it: a Secret of another type with a record's name and labels is none, and no
		// way to unlock.
		FieldSelector: "type=" + release.SecretType,
	}
	records, err := ListMetadata(ctx, p.client.Namespace(key.Namespace), options, readRecord)
	if err != nil {
		return newest{}, err
	}
	record, found := release.Newest(records)
	return newest{record, found}, nil
}

// readRecord reads the metadata of a record. One that claims to be a record and cannot be read may be the newest
// one, so that the list must not go on.
func readRecord(m *metav1.PartialObjectMetadata) (release.Record, error) {
	rec, err := release.RecordOf(m)
	if err != nil {
		return rec, fmt.Errorf("record %s: %w", m.Name, err)
	}
	return rec, nil
}
