package lock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func settledLock(record types.UID, desired Packed, names ...string) *Lock {
	all := objects(names...)
	for _, o := range all {
		o.Desired = desired
	}
	return New(&Lock{Key: "ns/hr", Record: release.Record{UID: record}}, all)
}

// settle returns what a lock remembers once objects were judged good with some baselines.
func settle(t *testing.T, l *Lock, before *Settled, learnt map[string]drift.Baseline) *Settled {
	t.Helper()
	for name, baseline := range learnt {
		l.Observe(id(name), seen(1, 1, epoch))
		l.Take(epoch)
		l.Done(id(name), Outcome{Good: true, Digest: 1, Baseline: baseline, Now: epoch})
	}
	s, err := l.Settled(before)
	check.NoError(t, err)
	return s
}

// remembers returns which of some differences of object a are remembered.
func remembers(t *testing.T, s *Settled, o *Object, all drift.Baseline) drift.Baseline {
	t.Helper()
	known, _, err := s.Of(o)
	check.NoError(t, err)
	return all.Select(known)
}

func TestI6_SettledFormsAreThoseOfARecordAndADesiredState(t *testing.T) {
	learnt := drift.Baseline{"/spec/a": 1, "/spec/b": 2}
	s := settle(t, settledLock("r1", "{}", "a", "plain"), nil, map[string]drift.Baseline{"a": learnt, "plain": nil})
	check.That(t, len(s.Forms) == 1, "forms of %d objects are kept, and one differs from its manifest", len(s.Forms))
	o := objects("a")[0]
	o.Desired = "{}"
	got := remembers(t, s, o, learnt)
	check.That(t, len(got) == 2, "of %v is remembered %v", learnt, got)
	others := drift.Baseline{"/spec/a": 2, "/spec/b": 2, "/spec/c": 1}
	got = remembers(t, s, o, others)
	check.That(t, len(got) == 1 && got["/spec/b"] == 2, "of other values is remembered %v", got)
	other := *o
	other.Desired = "{ }"
	got = remembers(t, s, &other, learnt)
	check.That(t, len(got) == 0, "of another desired state is remembered %v", got)
	other = *o
	other.ID.Name = "b"
	got = remembers(t, s, &other, learnt)
	check.That(t, len(got) == 0, "of another object is remembered %v", got)
	next := settle(t, settledLock("r2", "{}", "a"), s, map[string]drift.Baseline{"a": nil})
	check.That(t, next != s && len(next.Forms) == 0, "of another record is remembered %v", next.Forms)
}

func TestI6_SettledFormsStayWhileNothingElseIsKnown(t *testing.T) {
	learnt := drift.Baseline{"/spec/a": 1}
	before := settle(t, settledLock("r1", "{}", "a", "b"), nil, map[string]drift.Baseline{"a": learnt, "b": learnt})
	l := settledLock("r1", "{}", "a", "b")
	check.Equal(t, settle(t, l, before, nil), before, "a lock that has judged nothing forgets what was known")
	// Another difference is only reported: the form is not known anew.
	l.Observe(id("a"), seen(2, 2, epoch))
	l.Observe(id("b"), seen(2, 2, epoch))
	l.Take(epoch)
	l.Done(id("a"), Outcome{Reported: true, Digest: 2, Problem: &Problem{Drifted: true}, Now: epoch})
	l.Done(id("b"), Outcome{Good: true, Digest: 2, Baseline: drift.Baseline{"/spec/a": 2}, Excused: true, Now: epoch})
	s := settle(t, l, before, nil)
	check.Must(t, s != before && len(s.Forms) == 2, "%d forms are remembered", len(s.Forms))
	all := objects("a", "b")
	all[0].Desired, all[1].Desired = "{}", "{}"
	got := remembers(t, s, all[0], learnt)
	check.That(t, len(got) == 1, "the form of an object with drift is forgotten")
	got = remembers(t, s, all[1], learnt)
	check.That(t, len(got) == 0, "a form is remembered that another one took the place of")
	_, excused, err := s.Of(all[1])
	check.That(t, err == nil && excused, "that it is excused is forgotten: %v", err)
	check.Equal(t, settle(t, l, s, nil), s, "nothing was learnt, and something else is to be stored")
}

func TestSettledFormsHoldNoValue(t *testing.T) {
	learnt := drift.Baseline{"/data/password": 0x4142434445464748} // "ABCDEFGH"
	texts := map[string]bool{}
	for range 2 {
		s := settle(t, settledLock("r1", "{}", "a"), nil, map[string]drift.Baseline{"a": learnt})
		forms, err := json.Marshal(s.Forms)
		check.NoError(t, err)
		for _, part := range []string{"ABCDEFGH", "password", "apps"} {
			check.That(t, !strings.Contains(string(forms), part) && !strings.Contains(fmt.Sprintf("%s", s.Forms), part),
				"forms hold %q: %s", part, forms)
		}
		texts[string(forms)] = true
	}
	check.Equal(t, len(texts), 2, "the hashes of two memories are the same: they have no key of their own")
}

func TestSettledFormsAreBounded(t *testing.T) {
	var names []string
	learnt, large := map[string]drift.Baseline{}, drift.Baseline{}
	for i := range 1000 {
		large[fmt.Sprintf("/spec/%d", i)] = uint64(i)
	}
	for i := range 100 {
		names = append(names, fmt.Sprintf("o%d", i))
		learnt[names[i]] = large
	}
	text, err := json.Marshal(settle(t, settledLock("r1", "{}", names...), nil, learnt))
	check.That(t, err == nil && len(text) <= 2*maxSettled, "%d bytes are to be stored: %v", len(text), err)
}
