package lock

import (
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Summary counts the objects of a lock for a status.
type Summary struct {
	v1alpha1.ObjectCounts
	Unjudged int // not judged yet
	// Problems are the objects with a difference or an error, ordered by identity.
	Problems []ObjectProblem
	// Fights are the objects fought over, ordered by identity.
	Fights []manifest.ID
	// Scalable maps the objects with replicas that a live autoscaler could set to their range in the manifest, nil for
	// none.
	Scalable map[manifest.ID]*judge.Range
	// Excused are the objects excused by managed fields.
	Excused []Excused
	// QuietAt is the earliest possible end of a fight; zero for none.
	QuietAt time.Time
}

// ObjectProblem names an object and its problem.
type ObjectProblem struct {
	ID manifest.ID
	Problem
}

// Excused names an object, and the paths at which it differs from its manifest.
type Excused struct {
	ID    manifest.ID
	Paths []string
}

// Summarize counts the objects as of now and ends the fights after their quiet period.
func (l *Lock) Summarize(now time.Time) Summary {
	unmanaged := l.Unmanaged.count()
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := Summary{ObjectCounts: v1alpha1.ObjectCounts{Tracked: len(l.objects), Unmanaged: unmanaged},
		Scalable: map[manifest.ID]*judge.Range{}}
	for _, s := range l.objects {
		id := s.ID
		s.forgetBackoff(now)
		if s.Scalable {
			sum.Scalable[id] = s.Replicas
		}
		if s.contended() {
			sum.Contended++
			sum.Fights = append(sum.Fights, id)
			sum.QuietAt = earliest(sum.QuietAt, s.backoff.budget.QuietAt())
		}
		if s.unjudged() {
			sum.Unjudged++
		}
		if s.additions {
			sum.Additions++
		}
		if s.excused {
			sum.Excused = append(sum.Excused, Excused{id, s.baseline.Paths()})
		}
		switch {
		case s.problem == nil:
			continue
		case s.problem.Drifted:
			sum.Drifted++
		default:
			sum.Waiting++
		}
		sum.Problems = append(sum.Problems, ObjectProblem{ID: id, Problem: *s.problem})
	}
	slices.SortFunc(sum.Problems, func(a, b ObjectProblem) int { return byText(a.ID, b.ID) })
	slices.SortFunc(sum.Fights, byText)
	return sum
}

// Complete reports, once, the end of the first judgements: every object was judged, or has a problem that prevents it.
func (l *Lock) Complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.complete || slices.ContainsFunc(l.objects, (*state).unjudged) {
		return false
	}
	l.complete = true
	return true
}

func byText(a, b manifest.ID) int { return strings.Compare(a.String(), b.String()) }
