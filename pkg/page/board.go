package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// mostLogged bounds the entries of the time line. A slow viewer misses the older ones.
const mostLogged = 200

// board holds the rows of the HelmReleases and the time line for all viewers. Each row is encoded once for all of them.
// A viewer with access to one HelmRelease of the page has access to all, so a row is right for every viewer. It exists
// while there are viewers, and Page.mu guards it.
type board struct {
	rows map[string]row
	// log holds the newest drift records since the first viewer joined, in the order of their arrival. Records older
	// than floor are left out.
	log   []logged
	known map[driftID]bool // those in log
	floor time.Time
	last  int
}

// driftID identifies a drift record. The same record arrives twice: in the operator's stream and, a moment later, in
// the status.
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

// add appends the new drift records of a HelmRelease to the time line.
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

// trim drops all but the newest mostLogged entries. add calls it at twice that number, and newDrift calls it on each
// read.
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
