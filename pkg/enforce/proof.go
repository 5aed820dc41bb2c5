package enforce

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Omit leaves parts of the order proof out. Its only use is in tests that show that every part is needed.
type Omit struct {
	Check        bool // do not read the record before a write
	Precondition bool // do not send the observed resourceVersion
	SecondCheck  bool // do not read the record after a creation
	Identity     bool // compare revision numbers instead of the record's identity
}

// Prover answers whether a release still is at the record that is locked, by asking the API server: one metadata-only
// list of the records of the release, which all that wait at the moment share. It is safe for concurrent use.
type Prover struct {
	client metadata.Getter
	omit   Omit

	mu    sync.Mutex
	reads map[release.Key]*reads
}

// reads are the reads of one release: the one under way, and the next one, which everybody joins who came after the
// one under way had begun (its answer might be older than what they saw).
type reads struct{ current, next *read }

type read struct {
	joined int // who waits for it, beside its leader; guarded by Prover.mu
	done   chan struct{}
	newest release.Record
	found  bool
	err    error
}

// NewProver returns a Prover that reads through client.
func NewProver(client metadata.Interface, omit Omit) *Prover {
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	return &Prover{client: client.Resource(secrets), omit: omit, reads: map[release.Key]*reads{}}
}

// Holds says whether the newest record of the release is still the given one. The answer is from a read that began after
// Holds was called.
func (p *Prover) Holds(ctx context.Context, rec release.Record) (bool, error) {
	if p.omit.Check {
		return true, nil
	}
	newest, found, err := p.Newest(ctx, rec.Key)
	if err != nil || !found {
		return false, err
	}
	if p.omit.Identity {
		return newest.Revision == rec.Revision && newest.Status == rec.Status, nil
	}
	return newest.Same(rec) && newest.Status == release.StatusDeployed, nil
}

// Newest returns the newest record of a release, false when there is none. The answer is from a read that began after
// Newest was called.
func (p *Prover) Newest(ctx context.Context, key release.Key) (release.Record, bool, error) {
	r, lead := p.join(key)
	if lead {
		p.lead(ctx, key, r)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return release.Record{}, false, ctx.Err()
	}
	if r.err != nil {
		return release.Record{}, false, fmt.Errorf("read the records of release %s: %w", key, r.err)
	}
	return r.newest, r.found, nil
}

// join returns the read to wait for, and whether the caller has to carry it out.
func (p *Prover) join(key release.Key) (r *read, lead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rs := p.reads[key]
	if rs == nil {
		rs = &reads{current: &read{done: make(chan struct{})}}
		p.reads[key] = rs
		return rs.current, true
	}
	if rs.next == nil {
		rs.next = &read{done: make(chan struct{})}
	}
	rs.next.joined++
	return rs.next, false
}

// lead carries out a read, and starts the next one if anybody joined it meanwhile.
func (p *Prover) lead(ctx context.Context, key release.Key, r *read) {
	// A read serves others too, so it must not end when its leader is cancelled; client timeouts bound it.
	ctx = context.WithoutCancel(ctx)
	p.read(ctx, key, r)
	p.mu.Lock()
	rs := p.reads[key]
	next := rs.next
	rs.current, rs.next = next, nil
	if next == nil {
		delete(p.reads, key)
	}
	p.mu.Unlock()
	close(r.done)
	if next != nil {
		go p.lead(ctx, key, next)
	}
}

func (p *Prover) read(ctx context.Context, key release.Key, r *read) {
	// No resourceVersion: the answer must be at least as new as this moment.
	list, err := p.client.Namespace(key.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: release.Selector(key.Name),
		// As the watch of records has it: a Secret of another type with a record's name and labels is none, and no way to unlock.
		FieldSelector: "type=" + release.SecretType,
	})
	if err != nil {
		r.err = err
		return
	}
	records := make([]release.Record, 0, len(list.Items))
	for i := range list.Items {
		rec, err := release.RecordOf(&list.Items[i])
		if err != nil {
			// Something that claims to be a record and cannot be read may be the newest one: do not go on.
			r.err = fmt.Errorf("record %s: %w", list.Items[i].Name, err)
			return
		}
		records = append(records, rec)
	}
	r.newest, r.found = release.Newest(records)
}
