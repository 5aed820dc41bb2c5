package proof

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
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestOnlyAListThatWouldWaitIsAFence(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		pass(listInterval)
		f.listed() // the API server asks etcd for it at once
		var tokens []string
		for range 2 {
			pass(listInterval / 3)
			asked := f.ask(f.t.Context())
			w := <-f.writes
			w.answer <- nil
			f.none(asked)
			close(f.seen)
			f.holds(true, 0, asked)
			check.Equal(t, w.verb, "update", "a fence is a")
			tokens = append(tokens, w.secret.Annotations["helm.cattle.io/mark"])
		}
		if tokens[0] == tokens[1] {
			t.Errorf("the second token is as the first, and would change nothing: %s", tokens[0])
		}
		pass(listInterval) // fences do not make a list wait
		f.listed()
	})
}

// An API server before Kubernetes 1.31 reads all Secrets of a namespace for each list.
func TestWhereListsReadStorageEveryCheckIsAFence(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.fenceFirst = true
		asked := f.ask(f.t.Context())
		w := <-f.writes
		close(f.seen)
		w.answer <- nil
		f.holds(true, 0, asked)
	})
}

func TestWhatTheViewHasWhenTheFenceIsSeenDecides(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		asked := f.ask(f.t.Context())
		w := <-f.writes
		f.current = recordOf(t, secret("3", "u3", "30", "pending-upgrade"))
		close(f.seen) // before the write is answered
		f.holds(false, 0, asked)
		w.answer <- nil
		asked = f.ask(f.t.Context())
		w = <-f.writes
		f.current = release.Record{}
		close(f.seen)
		f.holds(false, 0, asked)
		w.answer <- nil
		check.That(t, f.lists.lists == 1, "%d lists", f.lists.lists)
	})
}

// The API server may know a record unknown to the view, and the other way round.
func TestAListDecidesWhatTheViewCannotTell(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		f.err = errors.New("no record")
		asked := f.ask(f.t.Context())
		w := <-f.writes
		close(f.seen)
		f.holds(true, 0, asked)
		w.answer <- nil
		check.That(t, f.lists.lists == 2, "%d lists", f.lists.lists)
	})
}

// A fence in flight may be older than an observation: later callers wait for the next one, together.
func TestThoseWhoWaitShareOneFenceThatBeganAfterTheyAsked(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		first := f.ask(f.t.Context())
		w := <-f.writes
		var later []<-chan checked
		for range 10 {
			later = append(later, f.ask(f.t.Context()))
		}
		close(f.seen)
		f.holds(true, 0, first)
		f.none(later...)
		f.idle() // two fences at once
		w.answer <- nil
		w = <-f.writes
		f.none(later...)
		f.current.ResourceVersion = "21"
		close(f.seen)
		f.holds(false, 0, later...)
		w.answer <- nil
		check.That(t, f.fences == 2 && f.lists.lists == 1, "%d fences and %d lists", f.fences, f.lists.lists)
	})
}

// many makes so many checks, and has them pass a fence.
func (f *fixture) many(callers int) {
	f.t.Helper()
	var asked []<-chan checked
	first := f.ask(f.t.Context())
	w := <-f.writes
	for range callers {
		asked = append(asked, f.ask(f.t.Context()))
	}
	close(f.seen)
	w.answer <- nil
	f.holds(true, 0, first)
	w = <-f.writes
	close(f.seen)
	w.answer <- nil
	f.holds(true, 0, asked...)
}

func TestFencesForManyAreWrittenAtAPace(t *testing.T) {
	for callers, pause := range map[int]time.Duration{fenceCrowd: 0, fenceCrowd + 1: fenceInterval} {
		withFences(t, func(f *fixture) {
			f.listed()
			f.many(callers)
			begin := time.Now()
			asked := f.ask(f.t.Context())
			w := <-f.writes
			check.Equal(t, time.Since(begin), pause, "after a fence for %d the next one begins after", callers)
			close(f.seen)
			w.answer <- nil
			f.holds(true, 0, asked)
		})
	}
}

func TestACallerThatGivesUpDoesNotSpoilTheFenceOfOthers(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		f.many(fenceCrowd + 1)
		ctx, cancel := context.WithCancel(f.t.Context())
		first := f.ask(ctx)
		other := f.ask(f.t.Context()) // both wait until the next fence is due
		cancel()
		got := <-first
		check.That(t, errors.Is(got.err, context.Canceled), "answered %+v", got)
		w := <-f.writes
		close(f.seen)
		w.answer <- nil
		f.holds(true, 0, other)
	})
}

func TestAFenceCreatesTheSecretThatIsMissing(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		asked := f.ask(f.t.Context())
		first := <-f.writes
		first.answer <- apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "own-mark")
		second := <-f.writes
		check.That(t, first.verb == "update" && second.verb == "create", "%s, then %s", first.verb, second.verb)
		// A user may have removed the label of the watch's selector from an existing Secret.
		for _, w := range []write{first, second} {
			s := w.secret
			check.That(t,
				s.Name == "own-mark" && s.Type == "helm.sh/release.v1" && s.Labels["owner"] == "helm-locker" &&
					s.Annotations["helm.cattle.io/mark"] == "x" && len(s.Data) == 0 && s.ResourceVersion == "", "%s of %+v", w.verb, s)
		}
		close(f.seen)
		second.answer <- nil
		f.holds(true, 0, asked)
	})
}

func TestAFenceThatIsRefusedIsLoggedOnceAndNotTriedForAWhile(t *testing.T) {
	refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden,
		Reason: metav1.StatusReasonForbidden, Message: "no such luck"}}
	withFences(t, func(f *fixture) {
		for range 2 {
			f.listed()
			asked := f.ask(f.t.Context())
			w := <-f.writes
			w.answer <- refusal
			f.holds(true, 0, asked)
			for range 10 {
				f.listed()
			}
			pass(fenceCooldown)
		}
		told := strings.Count(f.log.String(), "no such luck")
		check.That(t, told == 1, "told %d times: %s", told, f.log)
	})
}

// The watch is late, or the Secret is hidden from it.
func TestAFenceThatIsNotSeenIsNotWaitedForLong(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		first := f.ask(f.t.Context())
		w := <-f.writes
		next := f.ask(f.t.Context())
		w.answer <- nil
		f.none(first, next)
		f.holds(true, fenceTimeout, first, next) // by one list for both, and no other fence
		f.idle()
		f.listed()
		check.That(t, f.fences == 1 && strings.Contains(f.log.String(), errNotSeen.Error()), "%d fences; told: %s",
			f.fences, f.log)
		pass(fenceCooldown)
		f.listed()
		asked := f.ask(f.t.Context())
		w = <-f.writes
		close(f.seen)
		w.answer <- nil
		f.holds(true, 0, asked)
	})
}

func TestNoFenceIsWrittenForAWatchThatHasEnded(t *testing.T) {
	withFences(t, func(f *fixture) {
		f.listed()
		asked := f.ask(f.t.Context())
		w := <-f.writes
		close(f.ended)
		f.holds(true, 0, asked)
		w.answer <- nil
		f.listed()
		check.That(t, f.fences == 1 && f.log.Len() <= 0, "%d fences; told: %s", f.fences, f.log)
	})
}

// The end of withFences checks for remaining goroutines.
func TestCloseLeavesNothingBehind(t *testing.T) {
	for name, stage := range map[string]func(*fixture){
		"while a fence is written":    func(*fixture) {},
		"while a fence is waited for": func(f *fixture) { (<-f.writes).answer <- nil },
		"while a write is unanswered": func(f *fixture) { <-f.writes; close(f.seen) },
	} {
		t.Run(name, func(t *testing.T) {
			withFences(t, func(f *fixture) {
				f.listed()
				ctx, cancel := context.WithCancel(f.t.Context())
				asked := f.ask(ctx)
				stage(f)
				next := f.ask(ctx)
				cancel()
				<-asked
				got := <-next
				check.That(t, errors.Is(got.err, context.Canceled), "the check ended with %v", got.err)
				begin := time.Now()
				f.Close()
				took := time.Since(begin)
				check.That(t, took <= 0 && f.log.Len() <= 0, "took %v; told: %s", took, f.log)
			})
		})
	}
}
