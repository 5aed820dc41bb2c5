package enforce

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rancher/helm-locker/pkg/release"
)

// write is a request to change the Secret for marks.
type write struct {
	verb   string
	secret *corev1.Secret
	answer chan error
}

// secretForMarks hands on what is written to it.
type secretForMarks struct {
	typedcorev1.SecretInterface
	writes chan<- write
}

func (s secretForMarks) Secrets(string) typedcorev1.SecretInterface { return s }

func (s secretForMarks) Update(
	ctx context.Context, secret *corev1.Secret, _ metav1.UpdateOptions,
) (*corev1.Secret, error) {
	return s.write(ctx, "update", secret)
}

func (s secretForMarks) Create(
	ctx context.Context, secret *corev1.Secret, _ metav1.CreateOptions,
) (*corev1.Secret, error) {
	return s.write(ctx, "create", secret)
}

func (s secretForMarks) write(ctx context.Context, verb string, secret *corev1.Secret) (*corev1.Secret, error) {
	w := write{verb, secret, make(chan error)}
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
		m := &marking{t: t, locked: secret("2", "u2", "20", "deployed"), writes: make(chan write),
			log: &bytes.Buffer{}, ended: make(chan struct{})}
		m.lists = &lister{items: []*metav1.PartialObjectMetadata{m.locked}}
		m.current = recordOf(t, m.locked)
		log := logrus.New()
		log.SetOutput(m.log)
		own := types.NamespacedName{Namespace: "own", Name: "own-mark"}
		m.Prover = NewProver(m.lists.client(), secretForMarks{writes: m.writes}, own, m, log)
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
		m.t.Fatalf("%s of %+v", w.verb, w.secret)
	default:
	}
}
