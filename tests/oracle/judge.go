// Package oracle judges a recorded run of a control plane by the promises, and imports nothing of pkg/. The answer to
// a write has the resourceVersion of the write in etcd, which joins its two logs; a deletion is joined by the uid.
// Only operators and Helm need an author: every other writer is "somebody".
package oracle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Names of rules, used by exceptions.
const (
	ruleStale     = "I1-value"   // a write to a value that no deployed revision declared while it was decided
	ruleProof     = "I1-proof"   // a write after which the record was not read again
	ruleDeletion  = "I2"         // a deletion of what a current revision declares, or of what was never declared
	ruleNoDrift   = "I3"         // a write to an object that nobody had changed
	ruleLoop      = "I6"         // writes one after another to the same object
	ruleMode      = "I3-mode"    // a write for a release that is suspended, or in Detect
	ruleOwnership = "I4"         // field ownership after a revert unlike Helm's
	ruleDrift     = "I5"         // drift that lives on while the status denies it
	ruleHelm      = "I13"        // a refusal of a request of Helm's
	ruleRights    = "I14-rights" // a write with rights that nobody asked the operator to use for the release
	rulePath      = "I14-path"   // a request to a path other than a plain resource, discovery or health
	ruleSelector  = "I14-query"  // a selector of records that is more than one release's
	ruleForeign   = "I14-write"  // a write to an object that no release declares, outside of the bookkeeping
)

const (
	policies     = "/registry/helm.cattle.io/helmreleasepolicies/"
	guardWebhook = "guard.helm-locker.cattle.io" // a part of the names of the guard's webhooks
	mendTime     = time.Minute                   // within which a newer record may mend a write
	proofTime    = 10 * time.Second              // within which the record is read again, if the operator lives on
	restTime     = 5 * time.Second               // how long a state lasts that is judged as the operator's last word
	loopAfter    = 8                             // writes one after another, with nobody's between, are a loop
	modeTime     = 5 * time.Second               // how long a change of a HelmRelease or policy may take to arrive
)

var farAway = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) // after every run

// live is an object as it is at a moment of the run.
type live struct {
	event    *Event
	author   *Request // nil for somebody
	id       identity
	helm     object          // as Helm left it last
	record   *record         // that the writes of operators carried out which nobody else's followed, as what is below
	reverted map[string]bool // the declared paths that differed before
	created  bool            // the object was missing
	writes   int
}

func (l *live) ours() bool    { return l.author != nil && l.author.ours() }
func (l *live) value() object { return l.event.Value }

// debt is a write that an operator has to undo because Helm superseded it: a deletion, or a creation.
type debt struct {
	of      *live
	author  *Request
	deleted bool
}

// judge holds the state of the run between two events.
type judge struct {
	report   *Report
	releases *releases
	locks    map[string]*lock     // HelmReleases, by key
	accepted map[string]time.Time // until when policies accept the records of anyone, by key
	objects  map[string]*live     // by key
	gone     map[string]*live     // deleted objects, by key
	debts    map[string]debt      // by key
	ending   []string             // operators that are still to be judged at their end, the earliest first
	// The part of the audit log that belongs to writes in etcd.
	writes    map[int64]*Request    // by the revision that came of them
	deletions map[string]*Request   // by uid
	alive     map[string]time.Time  // the last request of each operator, by its namespace
	reads     map[string][]*Request // of Secrets by operators, or writes of their mark
	open      map[string]*Request   // watches, by their ids
}

// judge judges a recording.
func (s recording) judge(report *Report) error {
	j := &judge{report: report, locks: map[string]*lock{}, accepted: map[string]time.Time{},
		objects: map[string]*live{}, gone: map[string]*live{}, debts: map[string]debt{}, writes: map[int64]*Request{},
		deletions: map[string]*Request{}, alive: map[string]time.Time{}, reads: map[string][]*Request{},
		open: map[string]*Request{}}
	j.releases = &releases{map[string]*record{}, map[releaseKey][]moment{}, map[identity][]declaration{}}
	report.exceptions = s.notes
	if err := s.requests(j.request); err != nil {
		return err
	}
	for _, n := range s.notes {
		j.survive(n.Started, n.Stopped)
	}
	j.ending = slices.SortedFunc(maps.Keys(j.alive), func(a, b string) int { return j.alive[a].Compare(j.alive[b]) })
	if err := s.events(j.event); err != nil {
		return err
	}
	j.ends(farAway)
	j.due(farAway)
	for _, key := range slices.Sorted(maps.Keys(j.objects)) {
		j.rested(j.objects[key], farAway)
	}
	return nil
}

// limit returns the end of a time limit, which begins anew after an outage of the API server.
func (j *judge) limit(from time.Time, d time.Duration) time.Time {
	end := from.Add(d)
	for _, n := range j.report.exceptions {
		if n.Up.After(from) && n.Down.Before(end) {
			end = n.Up.Add(d)
		}
	}
	return end
}

// event takes in one write to etcd, and judges it if it is an operator's.
func (j *judge) event(e *Event) {
	j.ends(e.At)
	j.due(e.At)
	if before := j.objects[e.Key]; e.Value != nil {
		j.objects[e.Key] = j.stored(e, before)
	} else if before != nil {
		delete(j.objects, e.Key)
		j.gone[e.Key] = j.deleted(e, before)
	}
	j.releases.see(e)
	j.see(e)
}

// stored returns an object as it is after a write.
func (j *judge) stored(e *Event, before *live) *live {
	after := &live{event: e, author: j.author(e), id: e.Value.identity(), reverted: map[string]bool{}}
	if before != nil {
		after.helm = before.helm
	}
	switch {
	case after.ours():
		j.write(before, after)
	case before != nil && after.author == nil && sameContent(before.value(), e.Value) &&
		reflect.DeepEqual(before.value().branches(), e.Value.branches()):
		// Only the status, or fields filled in by the API server, have changed.
		status := *before
		status.event = &Event{Revision: e.Revision, At: before.event.At, Key: e.Key, Value: e.Value}
		return &status
	case before != nil:
		j.rested(before, e.At)
	}
	if after.author != nil && after.author.helms() {
		after.helm = e.Value
	}
	return after
}

// deleted returns an object as it was before it was deleted.
func (j *judge) deleted(e *Event, before *live) *live {
	r := j.deletions[before.value().uid()]
	if r != nil && r.ours() && !before.value().bookkeeping(r) {
		j.deletion(before, e.Revision, r)
	}
	gone := *before
	gone.event, gone.author = &Event{Revision: e.Revision, At: e.At, Key: e.Key, Value: before.value()}, r
	return &gone
}

// candidate is a revision that a write could carry out: its release was deployed at some moment of the decision.
type candidate struct {
	record   *record
	declared object
}

// candidates returns the newest deployed revisions of Helm's that declared an object at some moment between two
// revisions of etcd. An object belongs to the release in its metadata.
func (j *judge) candidates(o object, from, to int64) (found []candidate) {
	id, claimed := o.identity(), false
	for _, key := range j.releases.of(id) {
		all := j.releases.within(key, from, to)
		for i, m := range all {
			if m.wants(id) && m.newest.status == "deployed" && !j.outranked(m.newest, max(m.from, from), to) {
				found = append(found, candidate{m.newest, m.newest.declares(id)})
				claimed = claimed || i == len(all)-1 && m.newest.claims(o) // to the end
			}
		}
	}
	return slices.DeleteFunc(found, func(c candidate) bool { return claimed && !c.record.claims(o) })
}

// outranked reports whether the release of a record that is stored elsewhere had records in its own namespace for all
// of the time between two revisions of etcd: Helm works by those. Records in third namespaces may be forged.
func (j *judge) outranked(r *record, from, to int64) bool {
	native := releaseKey{r.as, r.key.name}
	all := j.releases.within(native, from, to)
	return native != r.key && len(all) > 0 && all[0].from <= from && !slices.ContainsFunc(all, func(m moment) bool {
		return m.newest == nil || m.newest.status == "uninstalled"
	})
}

// bookkeeping reports whether an object is a process's own by its identity: the closed list. Teams have ReleaseLocks.
func (o object) bookkeeping(r *Request) bool {
	id, own := o.identity(), r.operator()
	return id.group == "teams.helm.cattle.io" && strings.HasSuffix(r.User.Username, "-teams") ||
		slices.Contains([]string{"helm.cattle.io", "authentication.k8s.io", "authorization.k8s.io"}, id.group) ||
		id.kind == "CustomResourceDefinition" && strings.HasSuffix(id.name, ".helm.cattle.io") ||
		id.kind == "ValidatingWebhookConfiguration" && strings.Contains(fmt.Sprint(o["webhooks"]), guardWebhook) ||
		(id.kind == "Secret" || id.kind == "EndpointSlice") && id.namespace == own && o.annotation(releaseName) == ""
}
