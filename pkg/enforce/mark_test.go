package enforce

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// write is a request to change the Secret for marks.
type write struct {
	kind   types.PatchType
	body   string
	answer chan error
}

// secretForMarks hands on what is written to it.
type secretForMarks struct {
	metadata.ResourceInterface
	writes chan<- write
}

func (s secretForMarks) Patch(ctx context.Context, _ string, kind types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	w := write{kind, string(body), make(chan error)}
	select {
	case s.writes <- w:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-w.answer:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// marking is a prover whose API server and watch a test plays, at a time of its own. It is also the view.
type marking struct {
	*Prover
	t      *testing.T
	lists  *lister
	locked *metav1.PartialObjectMetadata
	writes chan write
	log    *bytes.Buffer

	marks   int
	seen    chan struct{} // of the last mark
	current release.Record
	err     error
	ended   chan struct{}
}

func (m *marking) Mark() (string, <-chan struct{}) {
	m.marks++
	m.seen = make(chan struct{})
	return strings.Repeat("x", m.marks), m.seen
}

func (m *marking) Current(release.Key) (release.Record, bool, error) {
	return m.current, m.current.UID != "", m.err
}

func (m *marking) Ended() <-chan struct{} { return m.ended }

// withMarks runs a test in a bubble. A goroutine that outlives the prover fails it.
func withMarks(t *testing.T, test func(*marking)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &marking{t: t, locked: secret("2", "u2", "20", "deployed"), writes: make(chan write), log: &bytes.Buffer{}, ended: make(chan struct{})}
		m.lists = &lister{items: []*metav1.PartialObjectMetadata{m.locked}}
		m.current = recordOf(t, m.locked)
		log := logrus.New()
		log.SetOutput(m.log)
		m.Prover = NewProver(m.lists.client(), Omit{}, types.NamespacedName{Namespace: "own", Name: "own-mark"}, m, log)
		m.marker.client = secretForMarks{writes: m.writes}
		defer m.Close()
		test(m)
	})
}

// answer is what a check said.
type answer struct {
	holds bool
	err   error
}

// ask begins a check.
func (m *marking) ask(ctx context.Context) <-chan answer {
	got := make(chan answer, 1)
	rec := recordOf(m.t, m.locked)
	go func() {
		holds, err := m.Holds(ctx, rec)
		got <- answer{holds, err}
	}()
	synctest.Wait()
	return got
}

// none fails the test if a check has ended.
func (m *marking) none(asked ...<-chan answer) {
	m.t.Helper()
	synctest.Wait()
	for _, a := range asked {
		select {
		case got := <-a:
			m.t.Fatalf("answered %+v too early", got)
		default:
		}
	}
}

// holds waits for the end of checks and fails the test if they say anything but want, or take more than within.
func (m *marking) holds(want bool, within time.Duration, asked ...<-chan answer) {
	m.t.Helper()
	begin := time.Now()
	for _, a := range asked {
		if got := <-a; got.err != nil || got.holds != want {
			m.t.Errorf("answered %+v, want %v", got, want)
		}
	}
	if took := time.Since(begin); took > within {
		m.t.Errorf("took %v, want at most %v", took, within)
	}
}

// listed makes a check that has to be a list.
func (m *marking) listed() {
	m.t.Helper()
	before := m.lists.lists
	m.holds(true, 0, m.ask(m.t.Context()))
	if m.lists.lists != before+1 {
		m.t.Fatalf("%d lists, want one", m.lists.lists-before)
	}
}

// pass lets time pass, which in a bubble takes none.
func pass(d time.Duration) { <-time.After(d) }

// idle fails the test if a write is under way.
func (m *marking) idle() {
	m.t.Helper()
	synctest.Wait()
	select {
	case w := <-m.writes:
		m.t.Fatalf("wrote a %s of %s", w.kind, w.body)
	default:
	}
}

func TestOnlyAListThatWouldWaitIsAMark(t *testing.T) {
	withMarks(t, func(m *marking) {
		m.listed()
		pass(cachePatience)
		m.listed() // the API server asks etcd for it at once
		var bodies []string
		for range 2 {
			pass(cachePatience / 3)
			asked := m.ask(m.t.Context())
			w := <-m.writes
			w.answer <- nil
			m.none(asked)
			close(m.seen)
			m.holds(true, 0, asked)
			if w.kind != types.MergePatchType {
				t.Errorf("a mark is a %s", w.kind)
			}
			bodies = append(bodies, w.body)
		}
		if bodies[0] == bodies[1] {
			t.Errorf("the second mark is as the first, and would change nothing: %s", bodies[0])
		}
		pass(cachePatience) // marks do not make a list wait
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

// A mark that is under way may be from before what somebody saw: who comes then waits for the next one, together with all others.
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
		m.underWay.Add(fewUnderWay)
		m.listed()
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
		w := <-m.writes
		for _, want := range []string{`"kind":"Secret"`, `"name":"own-mark"`, `"type":"helm.sh/release.v1"`, `"owner":"helm-locker"`, `"helm.cattle.io/mark":"x"`} {
			if w.kind != types.ApplyPatchType || !strings.Contains(w.body, want) || strings.Contains(w.body, `"data"`) {
				t.Errorf("made by a %s of %s, want %s", w.kind, w.body, want)
			}
		}
		// Somebody may have taken it off a Secret that exists.
		if !strings.Contains(first.body, `"owner":"helm-locker"`) {
			t.Errorf("changed by %s, without the label that the watch selects by", first.body)
		}
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, asked)
	})
}

func TestAMarkThatIsRefusedIsToldOnceAndNotTriedForAWhile(t *testing.T) {
	refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no such luck"}}
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
				next := newCheck(ctx, m.Prover, recordOf(t, m.locked))
				synctest.Wait()
				cancel()
				<-asked
				if err := next.Passed(context.Background()); !errors.Is(err, context.Canceled) {
					t.Errorf("the check ended with %v", err)
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
	p := l.prover(Omit{})
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
