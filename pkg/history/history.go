// Package history counts the drift of the last 24 hours by the hour, the release and the author, and makes a chart of
// it: a row of bars for each of the releases and of the authors with the most changes. The status page and the report
// draw the same chart. It is pure, and its memory is bounded.
package history

import (
	"cmp"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

const (
	// Hours is the number of bars of a row. The last one is the hour that has begun.
	Hours = 24
	// mostPairs bounds the pairs of a release and an author in an hour. Changes of others are counted without names.
	mostPairs = 1000
	// mostReleases bounds the releases with known changes, and mostKnown the known changes of each.
	mostReleases, mostKnown = 4000, 64
	// mostName bounds a name, in bytes. A namespace with the name of a release is shorter.
	mostName = 120
)

// unknown is the author of a change that nobody is known to have made, such as a deletion.
const unknown = "(not known)"

// Change is a change of a release that Helm did not make.
type Change struct {
	Release, Author string
	Time            time.Time
	// ID distinguishes changes of one release with the same time.
	ID string
}

// Of returns the change of a drift record. It is false for a denied request: that changed nothing.
func Of(release string, r *v1alpha1.DriftRecord) (Change, bool) {
	return Change{Release: release, Author: Author(r.FieldManager, r.Sender()), Time: r.Time.Time,
		ID: strings.Join([]string{r.Object.String(), string(r.Operation), r.FieldManager}, "\x00"),
	}, r.Action != v1alpha1.DriftActionDenied
}

// Author returns the author of a change: its field manager and its user, each of which may be empty. The Pod of a
// ServiceAccount's token is left out: a controller is one author, whichever of its Pods writes.
func Author(manager, user string) string {
	user, _, _ = strings.Cut(user, " (Pod ")
	switch {
	case manager != "" && user != "":
		return manager + " as " + user
	case manager == "" && user != "":
		return "user " + user
	}
	return cmp.Or(manager, unknown)
}

// Day holds the counts of the last 24 hours. The zero value is not ready: use New.
type Day struct {
	hours map[int64]*hour // by the hour since 1970
	known map[string]*known
	seed  maphash.Seed
}

// hour has the counts of an hour, and in rest those beyond mostPairs.
type hour struct {
	pairs map[pair]int
	rest  int
}

type pair struct{ release, author string }

// known are the newest counted changes of a release. A status has the ten newest changes, which a stream has reported
// before: older ones than floor are counted.
type known struct {
	newest []seen
	floor  time.Time
}

type seen struct {
	at time.Time
	id uint64
}

// New returns an empty Day.
func New() *Day {
	return &Day{hours: map[int64]*hour{}, known: map[string]*known{}, seed: maphash.MakeSeed()}
}

// Add counts a change that is reported once, as by a stream, and is not known from a status.
func (d *Day) Add(now time.Time, c Change) {
	d.trim(now)
	if k := d.of(c.Release); k == nil || k.add(c.Time, d.id(c)) {
		d.count(now, c)
	}
}

// Remember counts a change of a status, which is reported again and again. A change that is counted already, or that is
// older than the known ones, is left out.
func (d *Day) Remember(now time.Time, c Change) {
	d.trim(now)
	k := d.of(c.Release)
	if k == nil || c.Time.Before(k.floor) {
		return
	}
	if k.add(c.Time, d.id(c)) {
		d.count(now, c)
	}
}

// id is a digest of a change.
func (d *Day) id(c Change) uint64 {
	return maphash.String(d.seed, strconv.FormatInt(c.Time.UnixMicro(), 10)+"\x00"+c.ID)
}

// of returns the known changes of a release, and nil when there are too many releases.
func (d *Day) of(release string) *known {
	k := d.known[release]
	if k == nil && len(d.known) < mostReleases {
		k = &known{}
		d.known[release] = k
	}
	return k
}

// add reports whether a change is not known, and adds it to the known ones.
func (k *known) add(at time.Time, id uint64) bool {
	oldest := 0
	for i, s := range k.newest {
		if s.id == id {
			return false
		}
		if s.at.Before(k.newest[oldest].at) {
			oldest = i
		}
	}
	if len(k.newest) < mostKnown {
		k.newest = append(k.newest, seen{at, id})
		return true
	}
	if before := k.newest[oldest].at; at.After(before) {
		k.floor, k.newest[oldest] = before, seen{at, id}
	}
	return true
}

// count adds a change to its hour, if that is one of the last 24. A clock ahead of this one makes no later hour.
func (d *Day) count(now time.Time, c Change) {
	last := hourOf(now)
	at := min(hourOf(c.Time), last)
	if at <= last-Hours {
		return
	}
	h := d.hours[at]
	if h == nil {
		h = &hour{pairs: map[pair]int{}}
		d.hours[at] = h
	}
	p := pair{Name(c.Release), Name(c.Author)}
	if _, ok := h.pairs[p]; !ok && len(h.pairs) >= mostPairs {
		h.rest++
		return
	}
	h.pairs[p]++
}

// trim forgets what is older than 24 hours.
func (d *Day) trim(now time.Time) {
	last := hourOf(now)
	for at := range d.hours {
		if at <= last-Hours {
			delete(d.hours, at)
		}
	}
	if len(d.known) < mostReleases {
		return
	}
	for release, k := range d.known {
		if !k.since(now.Add(-Hours * time.Hour)) {
			delete(d.known, release)
		}
	}
}

// since reports whether a known change is not older than a time.
func (k *known) since(at time.Time) bool {
	for _, s := range k.newest {
		if !s.at.Before(at) {
			return true
		}
	}
	return false
}

func hourOf(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

// Name makes the name of a release or of an author fit for a row: neutral, in one line and short.
func Name(text string) string { return plain.Cut(plain.Line(text), mostName) }
