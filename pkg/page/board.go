package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/report"
)

// mostLogged is how many entries the time line begins with, and how many a viewer who is slow may miss.
const mostLogged = 200

// board is what all viewers are told of the HelmReleases: each row is encoded once, however many viewers there are.
// A viewer who may see one HelmRelease of the page may see all of them, so a row is right for every viewer.
// It exists while there are viewers, and Page.mu guards it.
type board struct {
	rows map[string]row
	// log are the newest drift records, in the order in which they became known once there are viewers. Those that
	// are older than floor are not among them.
	log   []logged
	known map[driftID]bool // those in log
	floor time.Time
	last  int
}

// driftID tells drift records apart. An operator sends one, and writes it into the status a moment later.
type driftID struct {
	key    string // of the HelmRelease
	time   int64  // in microseconds, as the API has it
	object v1alpha1.DriftedObject
	what   string
	ended  bool
}

func idOf(key string, r v1alpha1.DriftRecord) driftID {
	return driftID{key, r.Time.UnixMicro(), r.Object,
		strings.Join([]string{string(r.Operation), string(r.Action), r.FieldManager, r.User}, "\x00"),
		r.Duration != nil}
}

func newBoard() *board { return &board{rows: map[string]row{}, known: map[driftID]bool{}} }

// row is a HelmRelease with the event about it. A HelmRelease in the cache never changes: it is replaced.
type row struct {
	hr    *v1alpha1.HelmRelease
	event string
}

// logged is an entry of the time line with its number.
type logged struct {
	number int
	id     driftID
	entry  driftView
}

// rowEvent returns the event about a HelmRelease, and puts what drifted since the last one into the time line. The
// caller is a viewer who has joined.
func (p *Page) rowEvent(hr *v1alpha1.HelmRelease) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := keyOf(hr)
	before := p.board.rows[key]
	if before.hr == hr {
		return before.event, nil
	}
	view := rowOf(hr, p.Clock.Now())
	view.Message = report.Cut(view.Message, mostMessage)
	event, err := encode("release", view)
	if err != nil {
		return "", err
	}
	p.board.rows[key] = row{hr, event}
	p.board.add(key, hr.Spec.Release, hr.Status.RecentDrift...)
	return event, nil
}

// forget drops the row of a HelmRelease that was deleted.
func (p *Page) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.board.rows, key)
}

// newDrift returns the entries of the time line with higher numbers than told, and the highest number.
func (p *Page) newDrift(told int) ([]driftView, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.trim()
	var entries []driftView
	for _, l := range p.board.log {
		if l.number > told {
			entries = append(entries, l.entry)
		}
	}
	return entries, p.board.last
}

// add puts those drift records of a HelmRelease into the time line that it does not have yet.
func (b *board) add(key string, of v1alpha1.ReleaseReference, records ...v1alpha1.DriftRecord) {
	for _, r := range records {
		id := idOf(key, r)
		if b.known[id] || r.Time.Time.Before(b.floor) {
			continue
		}
		b.last++
		b.known[id] = true
		b.log = append(b.log, logged{b.last, id, driftOf(key, of, r)})
	}
	if len(b.log) > 2*mostLogged {
		b.trim()
	}
}

// trim leaves the newest entries. Which those are is sorted out when there are twice as many, or a viewer asks.
func (b *board) trim() {
	if len(b.log) <= mostLogged {
		return
	}
	slices.SortFunc(b.log, func(one, other logged) int { return other.entry.Time.Compare(one.entry.Time) })
	for _, l := range b.log[mostLogged:] {
		delete(b.known, l.id)
	}
	clear(b.log[mostLogged:])
	b.log = b.log[:mostLogged]
	b.floor = b.log[mostLogged-1].entry.Time
	slices.SortFunc(b.log, func(one, other logged) int { return cmp.Compare(one.number, other.number) })
}
