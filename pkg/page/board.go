package page

import (
	"cmp"
	"slices"
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
	floor time.Time
	last  int
}

// row is a HelmRelease with the event about it. A HelmRelease in the cache never changes: it is replaced.
type row struct {
	hr    *v1alpha1.HelmRelease
	event string
}

// logged is an entry of the time line with its number.
type logged struct {
	number int
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
	p.board.add(before.hr, hr)
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

// add puts the drift records of a HelmRelease into the time line that it did not have before.
func (b *board) add(before, hr *v1alpha1.HelmRelease) {
	for _, r := range hr.Status.RecentDrift {
		known := before != nil && slices.ContainsFunc(before.Status.RecentDrift,
			func(old v1alpha1.DriftRecord) bool { return sameRecord(old, r) })
		if known || r.Time.Time.Before(b.floor) {
			continue
		}
		b.last++
		b.log = append(b.log, logged{b.last, driftOf(hr, r)})
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
	clear(b.log[mostLogged:])
	b.log = b.log[:mostLogged]
	b.floor = b.log[mostLogged-1].entry.Time
	slices.SortFunc(b.log, func(one, other logged) int { return cmp.Compare(one.number, other.number) })
}

// sameRecord reports whether two drift records tell the same.
func sameRecord(a, b v1alpha1.DriftRecord) bool {
	return a.Time.Equal(&b.Time) && a.Object == b.Object && a.Operation == b.Operation && a.Action == b.Action &&
		a.FieldManager == b.FieldManager && a.User == b.User && (a.Duration == nil) == (b.Duration == nil)
}
