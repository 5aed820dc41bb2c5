package proof

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
	"github.com/rancher/helm-locker/tests/lib/check"
)

// write is a request to change the Secret for fences.
type write struct {
	verb   string
	secret *corev1.Secret
	answer chan error
}

// fenceSecret forwards the writes to it.
type fenceSecret struct {
	typedcorev1.SecretInterface
	writes chan<- write
}

func (s fenceSecret) Secrets(string) typedcorev1.SecretInterface { return s }

func (s fenceSecret) Update(
	ctx context.Context, secret *corev1.Secret, _ metav1.UpdateOptions,
) (*corev1.Secret, error) {
	return s.write(ctx, "update", secret)
}

func (s fenceSecret) Create(
	ctx context.Context, secret *corev1.Secret, _ metav1.CreateOptions,
) (*corev1.Secret, error) {
	return s.write(ctx, "create", secret)
}

func (s fenceSecret) write(ctx context.Context, verb string, secret *corev1.Secret) (*corev1.Secret, error) {
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

// fixture is a verifier whose API server, watch and clock are played by a test. It is also the view.
type fixture struct {
	*Verifier
	t      *testing.T
	lists  *lister
	locked *metav1.PartialObjectMetadata
	writes chan write
	log    *bytes.Buffer

	fences  int
	seen    chan struct{} // of the last fence
	current release.Record
	err     error
	ended   chan struct{}
}

func (f *fixture) Fence() (string, <-chan struct{}) {
	f.fences++
	f.seen = make(chan struct{})
	return strings.Repeat("x", f.fences), f.seen
}

func (f *fixture) Current(release.Key) (release.Record, bool, error) {
	return f.current, f.current.UID != "", f.err
}

func (f *fixture) Ended() <-chan struct{} { return f.ended }

// withFences runs a test in a bubble. A goroutine that outlives the verifier fails it.
func withFences(t *testing.T, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, locked: secret("2", "u2", "20", "deployed"), writes: make(chan write),
			log: &bytes.Buffer{}, ended: make(chan struct{})}
		f.lists = &lister{items: []*metav1.PartialObjectMetadata{f.locked}}
		f.current = recordOf(t, f.locked)
		log := logrus.New()
		log.SetOutput(f.log)
		own := types.NamespacedName{Namespace: "own", Name: "own-mark"}
		f.Verifier = New(Options{Metadata: f.lists.client(), Fence: own, Secrets: fenceSecret{writes: f.writes},
			Records: f, Log: log})
		defer f.Close()
		test(f)
	})
}

// checked is the result of a check.
type checked struct {
	holds bool
	err   error
}

// ask begins a check.
func (f *fixture) ask(ctx context.Context) <-chan checked {
	got := make(chan checked, 1)
	rec := recordOf(f.t, f.locked)
	go func() {
		holds, err := f.Holds(ctx, rec)
		got <- checked{holds, err}
	}()
	synctest.Wait()
	return got
}

// none fails the test if a check has ended.
func (f *fixture) none(asked ...<-chan checked) {
	f.t.Helper()
	synctest.Wait()
	for _, a := range asked {
		select {
		case got := <-a:
			f.t.Fatalf("answered %+v too early", got)
		default:
		}
	}
}

// holds waits for the end of checks and fails the test if one returns anything but want, or takes more than within.
func (f *fixture) holds(want bool, within time.Duration, asked ...<-chan checked) {
	f.t.Helper()
	begin := time.Now()
	for _, a := range asked {
		got := <-a
		check.That(f.t, got.err == nil && got.holds == want, "answered %+v, want %v", got, want)
	}
	took := time.Since(begin)
	check.That(f.t, took <= within, "took %v, want at most %v", took, within)
}

// listed makes a check that has to be a list.
func (f *fixture) listed() {
	f.t.Helper()
	before := f.lists.lists
	f.holds(true, 0, f.ask(f.t.Context()))
	check.Must(f.t, f.lists.lists == before+1, "%d lists, want one", f.lists.lists-before)
}

// pass lets time pass, which in a bubble takes none.
func pass(d time.Duration) { <-time.After(d) }

// idle fails the test if a write is under way.
func (f *fixture) idle() {
	f.t.Helper()
	synctest.Wait()
	select {
	case w := <-f.writes:
		f.t.Fatalf("%s of %+v", w.verb, w.secret)
	default:
	}
}
