package watch

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// recorder is a sink for the events, each with the position of the feed at that moment.
type recorder struct {
	feed *feed[*metav1.PartialObjectMetadata]
	log  []string
}

func (r *recorder) note(what string) {
	for name, ch := range map[string]chan struct{}{"begun": r.feed.begun, "synced": r.feed.synced} {
		select {
		case <-ch:
			if name == "synced" {
				what += " synced"
			}
		default:
			if name == "begun" {
				what += " before it began"
			}
		}
	}
	r.log = append(r.log, what)
}

func (r *recorder) observed(m *metav1.PartialObjectMetadata) { r.note("observed " + m.Name) }
func (r *recorder) gone(*metav1.PartialObjectMetadata)       { r.note("gone") }

func (r *recorder) listed(present map[types.NamespacedName]struct{}) {
	if len(present) != 2 {
		r.note("listed too few or too many")
		return
	}
	r.note("listed")
}

func newRecorder() (*feed[*metav1.PartialObjectMetadata], *recorder) {
	rec := &recorder{}
	rec.feed = &feed[*metav1.PartialObjectMetadata]{name: "test", sink: rec, log: fixture.Quiet(), begun: make(chan struct{}), synced: make(chan struct{})}
	return rec.feed, rec
}

func item(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	check.Must(t, len(got) == len(want), "got %q, want %q", got, want)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got, want)
			return
		}
	}
}

// A lock that registers and finds the feed not begun gets everything; so nothing may be delivered before it has begun.
func TestAListIsDeliveredAfterTheFeedHasBegunAndBeforeItIsSynced(t *testing.T) {
	f, rec := newRecorder()
	check.NoError(t, f.Replace([]any{item("a"), item("b")}, "1"))
	expect(t, rec.log, "observed a", "observed b", "listed")
	select {
	case <-f.synced:
	default:
		t.Error("not synced after the list")
	}
}

func TestAStreamedListIsJudgedObjectByObjectAndOnlyNamesAreKept(t *testing.T) {
	f, rec := newRecorder()
	keep := f.Transformer()
	var kept []any
	for _, name := range []string{"a", "b"} {
		k, err := keep(item(name))
		check.NoError(t, err)
		_, ok := k.(*listedObject)
		check.That(t, ok, "kept a %T", k)
		kept = append(kept, k)
	}
	expect(t, rec.log, "observed a", "observed b")
	check.NoError(t, f.Replace(kept, "1"))
	expect(t, rec.log, "observed a", "observed b", "listed")
}

func TestWhatIsNoObjectIsAnError(t *testing.T) {
	f, _ := newRecorder()
	for what, err := range map[string]error{"update": f.Update(3), "delete": f.Delete("x"),
		"list": f.Replace([]any{3}, "1")} {
		check.That(t, err != nil, "%s takes what is no object", what)
	}
}

// A watch with interruptions is no watch that never works.
func TestTheDelayBeginsAgainWhenAWatchHasWorked(t *testing.T) {
	const first = 150 * time.Millisecond // with jitter
	f := newFeed("test", &cache.ListWatch{}, &metav1.PartialObjectMetadata{}, &recorder{}, fixture.Quiet())
	grow := func() {
		t.Helper()
		longest := time.Duration(0)
		for range 10 {
			longest = f.delay(0)
		}
		check.Must(t, longest >= longestDelay, "after ten failures the delay is %s", longest)
	}
	delay := f.delay(0)
	check.That(t, delay <= first, "the first delay is %s", delay)
	grow()
	f.UpdateResourceVersion("7")
	delay = f.delay(time.Millisecond)
	check.That(t, delay <= first, "after an event the delay is %s", delay)
	f.delivered = false // as run has it
	grow()
	delay = f.delay(longestDelay + 1)
	check.That(t, delay <= first, "after a watch that lasted the delay is %s", delay)
}

// An API server whose storage was restored from a backup counts its versions from lower ones. The list has the existing
// objects, and is delivered again after the reset of the earlier versions.
func TestHostile_VersionsBeginAgain(t *testing.T) {
	for name, deliver := range map[string]func(f *feed[*metav1.PartialObjectMetadata], version string){
		"in a list": func(f *feed[*metav1.PartialObjectMetadata], version string) {
			check.NoError(t, f.Replace([]any{item("a")}, version))
		},
		"in a watch": func(f *feed[*metav1.PartialObjectMetadata], version string) { f.UpdateResourceVersion(version) },
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := newRecorder()
			rewound, listed := 0, 0
			f.rewound, f.again = func() { rewound++ }, func() { listed++ }
			for _, step := range []struct {
				version string
				want    int // how often versions have begun again by then
			}{{"90", 0}, {"100", 0}, {"100", 0}, {"40", 1}, {"41", 1}, {"not a number", 1}, {"42", 1}, {"1", 2}} {
				if deliver(f, step.version); rewound != step.want || listed != step.want {
					t.Errorf("at %s: rewound %d times, listed again %d times", step.version, rewound, listed)
				}
			}
		})
	}
}

// A watch that is asked for again at the version from before a restored backup would be silent.
func TestHostile_AnAPIServerThatWasAwayIsListedAgain(t *testing.T) {
	var answers []error
	lw := limited(&cache.ListWatch{
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
			err := answers[0]
			answers = answers[1:]
			return apiwatch.NewEmptyWatch(), err
		},
	}, Deadline)
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	answers = []error{nil, refused, refused, nil, nil}
	for i, want := range []string{"", "refused", "refused", "expired", ""} {
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
		got := ""
		switch {
		case apierrors.IsResourceExpired(err):
			got = "expired"
		case err != nil:
			got = "refused"
		}
		check.That(t, got == want && (w == nil) == (err != nil), "request %d: %v, %v", i, w, err)
	}
}

func TestWatchesAreLimitedAndListsAreNot(t *testing.T) {
	five, yes, no := int64(300), true, false
	for name, test := range map[string]struct {
		options metav1.ListOptions
		want    int64
	}{
		"a list":                          {metav1.ListOptions{}, 0},
		"a watch":                         {metav1.ListOptions{TimeoutSeconds: &five}, 35},
		"a watch that says it lists not":  {metav1.ListOptions{TimeoutSeconds: &five, SendInitialEvents: &no}, 35},
		"a watch that begins with a list": {metav1.ListOptions{TimeoutSeconds: &five, SendInitialEvents: &yes}, 300},
	} {
		var got metav1.ListOptions
		lw := limited(&cache.ListWatch{WatchFuncWithContext: func(_ context.Context,
			o metav1.ListOptions) (apiwatch.Interface, error) {
			got = o
			return apiwatch.NewEmptyWatch(), nil
		}}, Deadline)
		_, err := lw.WatchWithContext(t.Context(), test.options)
		check.NoError(t, err)
		seconds := int64(0)
		if got.TimeoutSeconds != nil {
			seconds = *got.TimeoutSeconds
		}
		check.That(t, seconds == test.want, "%s: %d seconds, want %d", name, seconds, test.want)
	}
	check.Equal(t, five, 300, "the caller's options have changed")
}

// An API server that hangs may keep the connection of a watch open for ever.
func TestAWatchOfAnAPIServerThatHangsEnds(t *testing.T) {
	var request context.Context
	lw := limited(&cache.ListWatch{WatchFuncWithContext: func(ctx context.Context,
		_ metav1.ListOptions) (apiwatch.Interface, error) {
		request = ctx
		return apiwatch.NewFake(), nil
	}}, time.Millisecond)
	seconds, yes := int64(300), true
	_, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
	check.NoError(t, err)
	_, ok := request.Deadline()
	check.Must(t, ok, "the request has no deadline")
	<-request.Done()
	check.That(t, errors.Is(request.Err(), context.DeadlineExceeded), "the request ends with %v", request.Err())
	w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds, SendInitialEvents: &yes})
	check.NoError(t, err)
	_, ok = request.Deadline()
	check.That(t, !ok, "a watch that begins with a list has a deadline")
	w.Stop()
}
