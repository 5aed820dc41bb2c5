package enforce

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/release"
)

func TestOnlyAListThatWouldWaitIsAMark(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		pass(cachePatience)
		m.listed() // the API server asks etcd for it at once
		var marks []string
		for range 2 {
			pass(cachePatience / 3)
			asked := m.ask(m.t.Context())
			w := <-m.writes
			w.answer <- nil
			m.none(asked)
			close(m.seen)
			m.holds(true, 0, asked)
			if w.verb != "update" {
				t.Errorf("a mark is a %s", w.verb)
			}
			marks = append(marks, w.secret.Annotations["helm.cattle.io/mark"])
		}
		if marks[0] == marks[1] {
			t.Errorf("the second mark is as the first, and would change nothing: %s", marks[0])
		}
		pass(cachePatience) // marks do not make a list wait
		m.listed()
	})
}

// An API server before Kubernetes 1.31 reads all Secrets of a namespace for each list.
func TestWhereListsReadStorageEveryCheckIsAMark(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.Prover.marker.always = true
		asked := m.ask(m.t.Context())
		w := <-m.writes
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, asked)
	})
}

func TestWithManyUnderWayThereAreNoLists(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.underWay.Add(fewUnderWay)
		asked := m.ask(m.t.Context())
		w := <-m.writes
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, asked)
		m.underWay.Add(-1)
		m.listed()
	})
}

func TestWhatTheViewHasWhenTheMarkIsSeenDecides(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		asked := m.ask(m.t.Context())
		w := <-m.writes
		m.current = recordOf(t, secret("3", "u3", "30", "pending-upgrade"))
		close(m.seen) // before the write is answered
		m.holds(false, 0, asked)
		w.answer <- nil
		asked = m.ask(m.t.Context())
		w = <-m.writes
		m.current = release.Record{}
		close(m.seen)
		m.holds(false, 0, asked)
		w.answer <- nil
		if m.lists.lists != 1 {
			t.Errorf("%d lists", m.lists.lists)
		}
	})
}

// What the view cannot tell may be clear to the API server, and the other way round.
func TestAListDecidesWhatTheViewCannotTell(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		m.err = errors.New("no record")
		asked := m.ask(m.t.Context())
		w := <-m.writes
		close(m.seen)
		m.holds(true, 0, asked)
		w.answer <- nil
		if m.lists.lists != 2 {
			t.Errorf("%d lists", m.lists.lists)
		}
	})
}

// A mark that is under way may be from before what somebody saw: who comes then waits for the next one, together
// with all others.
func TestThoseWhoWaitShareOneMarkThatBeganAfterTheyAsked(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		first := m.ask(m.t.Context())
		w := <-m.writes
		var later []<-chan answer
		for range 10 {
			later = append(later, m.ask(m.t.Context()))
		}
		close(m.seen)
		m.holds(true, 0, first)
		m.none(later...)
		m.idle() // two marks at once
		w.answer <- nil
		w = <-m.writes
		m.none(later...)
		m.current.ResourceVersion = "21"
		close(m.seen)
		m.holds(false, 0, later...)
		w.answer <- nil
		if m.marks != 2 || m.lists.lists != 1 {
			t.Errorf("%d marks and %d lists", m.marks, m.lists.lists)
		}
	})
}

func TestMarksOfManyAreWrittenAtAPace(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		m.underWay.Add(fewUnderWay)
		begin := time.Now()
		for i := range 3 {
			asked := m.ask(m.t.Context())
			w := <-m.writes
			if at, want := time.Since(begin), time.Duration(i)*markPace; at != want {
				t.Errorf("mark %d after %v, want %v", i, at, want)
			}
			close(m.seen)
			w.answer <- nil
			m.holds(true, 0, asked)
		}
	})
}

func TestACallerThatGivesUpDoesNotSpoilTheMarkOfOthers(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		m.underWay.Add(fewUnderWay)
		ctx, cancel := context.WithCancel(m.t.Context())
		first := m.ask(ctx)
		w := <-m.writes
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, first)
		first = m.ask(ctx)
		other := m.ask(m.t.Context()) // both wait until the next mark is due
		cancel()
		if got := <-first; !errors.Is(got.err, context.Canceled) {
			t.Errorf("answered %+v", got)
		}
		w = <-m.writes
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, other)
	})
}

func TestAMarkMakesTheSecretThatIsMissing(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		asked := m.ask(m.t.Context())
		first := <-m.writes
		first.answer <- apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "own-mark")
		second := <-m.writes
		if first.verb != "update" || second.verb != "create" {
			t.Errorf("%s, then %s", first.verb, second.verb)
		}
		// Somebody may have taken the label that the watch selects by off a Secret that exists.
		for _, w := range []write{first, second} {
			s := w.secret
			if s.Name != "own-mark" || s.Type != "helm.sh/release.v1" || s.Labels["owner"] != "helm-locker" ||
				s.Annotations["helm.cattle.io/mark"] != "x" ||
				len(s.Data) > 0 || s.ResourceVersion != "" {
				t.Errorf("%s of %+v", w.verb, s)
			}
		}
		close(m.seen)
		second.answer <- nil
		m.holds(true, 0, asked)
	})
}

func TestAMarkThatIsRefusedIsToldOnceAndNotTriedForAWhile(t *testing.T) {
	refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden,
		Reason: metav1.StatusReasonForbidden, Message: "no such luck"}}
	withMarks(t, func(m *marking) {
		for range 2 {
			m.listed()
			asked := m.ask(m.t.Context())
			w := <-m.writes
			w.answer <- refusal
			m.holds(true, 0, asked)
			for range 10 {
				m.listed()
			}
			pass(markRest)
		}
		if told := strings.Count(m.log.String(), "no such luck"); told != 1 {
			t.Errorf("told %d times: %s", told, m.log)
		}
	})
}

// The watch is behind, or somebody keeps the Secret from being seen.
func TestAMarkThatIsNotSeenIsNotWaitedForLong(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		first := m.ask(m.t.Context())
		w := <-m.writes
		next := m.ask(m.t.Context())
		w.answer <- nil
		m.none(first, next)
		m.holds(true, markPatience, first, next) // by one list for both, and no other mark
		m.idle()
		m.listed()
		if m.marks != 1 || !strings.Contains(m.log.String(), errNotSeen.Error()) {
			t.Errorf("%d marks; told: %s", m.marks, m.log)
		}
		pass(markRest)
		m.listed()
		asked := m.ask(m.t.Context())
		w = <-m.writes
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, asked)
	})
}

func TestNothingIsMarkedForAWatchThatHasEnded(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		asked := m.ask(m.t.Context())
		w := <-m.writes
		close(m.ended)
		m.holds(true, 0, asked)
		w.answer <- nil
		m.listed()
		if m.marks != 1 || m.log.Len() > 0 {
			t.Errorf("%d marks; told: %s", m.marks, m.log)
		}
	})
}

// The end of withMarks tells whether anything is left.
func TestCloseLeavesNothingBehind(t *testing.T) {
	for name, stage := range map[string]func(*marking){
		"while a mark is written":     func(m *marking) {},
		"while a mark is waited for":  func(m *marking) { (<-m.writes).answer <- nil },
		"while a write is unanswered": func(m *marking) { <-m.writes; close(m.seen) },
	} {
		t.Run(name, func(t *testing.T) {
			withMarks(t, func(m *marking) {
				m.listed()
				ctx, cancel := context.WithCancel(m.t.Context())
				asked := m.ask(ctx)
				stage(m)
				next := m.ask(ctx)
				cancel()
				<-asked
				if got := <-next; !errors.Is(got.err, context.Canceled) {
					t.Errorf("the check ended with %v", got.err)
				}
				begin := time.Now()
				m.Close()
				if took := time.Since(begin); took > 0 || m.log.Len() > 0 {
					t.Errorf("took %v; told: %s", took, m.log)
				}
			})
		})
	}
}

// A prover without a Secret to write to only reads.
func TestWithoutASecretNothingIsWritten(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}}
	p := l.prover()
	defer p.Close()
	for range 5 {
		if holds, err := p.Holds(t.Context(), recordOf(t, locked)); err != nil || !holds {
			t.Errorf("holds is %v, %v", holds, err)
		}
	}
	if l.lists != 5 {
		t.Errorf("%d lists", l.lists)
	}
}
