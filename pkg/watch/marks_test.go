package watch

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/pkg/release"
)

// marked returns the Secret of an operator with a mark.
func marked(operator, mark string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: operator, Name: operator + "-mark", UID: types.UID(operator), ResourceVersion: "1",
		Labels: map[string]string{"owner": "helm-locker"}, Annotations: map[string]string{"helm.cattle.io/mark": mark},
	}}
}

func wantSeen(t *testing.T, seen <-chan struct{}, want bool) {
	t.Helper()
	got := false
	select {
	case <-seen:
		got = true
	default:
	}
	if got != want {
		t.Errorf("seen is %v, want %v", got, want)
	}
}

func TestAMarkIsSeenWhenItIsDelivered(t *testing.T) {
	r, changed := follower()
	first, seen := r.Mark()
	r.observed(marked("own", "something else"))
	// The mark of another operator tells nothing about what was written before ours.
	r.observed(marked("another", first))
	unlabelled := marked("own", first)
	unlabelled.Labels = nil
	r.observed(unlabelled)
	r.gone(marked("own", first)) // when it was deleted, not when it was written
	wantSeen(t, seen, false)
	r.observed(marked("own", first))
	wantSeen(t, seen, true)
	r.observed(marked("own", first)) // written again by somebody
	second, seen := r.Mark()
	if first == second {
		t.Errorf("two marks are both %q", first)
	}
	r.observed(marked("own", first)) // an old mark
	wantSeen(t, seen, false)
	r.observed(marked("own", second))
	wantSeen(t, seen, true)
	*changed = (*changed)[:0]
	r.gone(marked("own", second))
	if len(*changed) > 0 || len(r.records) > 0 || len(r.bad) > 0 || len(r.byName) > 0 || len(r.badOf) > 0 {
		t.Errorf("marks count as records: told of %v, remembers %v, %v", *changed, r.records, r.bad)
	}
}

// What a list lacks is only known at its end.
func TestAMarkInAListIsSeenWhenTheListHasEnded(t *testing.T) {
	r, _ := follower()
	r.observed(secret("1", "a", "10", "deployed"))
	mark, seen := r.Mark()
	r.marks.listBegins()
	r.observed(marked("own", mark))
	wantSeen(t, seen, false)
	present := map[types.NamespacedName]struct{}{{Namespace: "own", Name: "own-mark"}: {}}
	removed := false
	r.changed = func(key release.Key) {
		removed = true
		wantSeen(t, seen, false)
	}
	r.listed(present)
	wantSeen(t, seen, true)
	if _, found := r.Newest(web); found || !removed {
		t.Error("what is not in the list is still known")
	}
	mark, seen = r.Mark()
	r.observed(marked("own", mark)) // after the list
	wantSeen(t, seen, true)
}

// A list that ends half-way is begun anew, and may then be answered by another API server, which is behind.
func TestAMarkInAListThatNeverEndedIsNotSeen(t *testing.T) {
	r, _ := follower()
	mark, seen := r.Mark()
	r.marks.listBegins()
	r.observed(marked("own", mark))
	r.marks.listBegins()
	r.listed(nil)
	wantSeen(t, seen, false)

	// Nor does a mark that was asked for later count as part of what came before.
	_, _ = r.Mark()
	r.marks.listBegins()
	r.observed(marked("own", r.marks.last))
	_, seen = r.Mark()
	r.listed(nil)
	wantSeen(t, seen, false)
}

func TestARecordThatIsMadeAMarkIsForgotten(t *testing.T) {
	r, changed := follower()
	r.observed(secret("1", "a", "10", "superseded"))
	r.observed(secret("2", "b", "20", "deployed"))
	*changed = nil
	relabelled := secret("2", "b", "21", "deployed")
	relabelled.Labels["owner"] = release.OwnerMark
	r.observed(relabelled)
	newest(t, r, "sh.helm.release.v1.web.v1 10 superseded")
	if len(*changed) != 1 || (*changed)[0] != web {
		t.Errorf("told of %v", *changed)
	}
	r.observed(secret("2", "b", "22", "deployed"))
	newest(t, r, "sh.helm.release.v1.web.v2 22 deployed")
}

// The attempts of the Reflector to list are told from each other, in whichever way it lists, and Run ends for those
// who wait.
func TestAnAttemptToListBeginsWithNothing(t *testing.T) {
	client := fake.NewSimpleMetadataClient(fake.NewTestScheme())
	var r *Releases
	var begun sync.WaitGroup
	begun.Add(2)
	attempts := 0
	attempt := func() {
		r.marks.mu.Lock()
		listing, listed := r.marks.listing, r.marks.listed
		r.marks.listed = true
		r.marks.mu.Unlock()
		attempts++
		if !listing || listed {
			t.Errorf("attempt %d: listing is %v, what was listed before counts: %v", attempts, listing, listed)
		}
		if attempts <= 2 {
			begun.Done()
		}
	}
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		attempt()
		return true, nil, context.DeadlineExceeded
	})
	client.PrependWatchReactor("secrets", func(a clienttesting.Action) (bool, apiwatch.Interface, error) {
		if o := a.(clienttesting.WatchActionImpl).ListOptions; o.SendInitialEvents != nil && *o.SendInitialEvents {
			attempt()
		}
		return true, nil, context.DeadlineExceeded
	})
	r = NewReleases(client, types.NamespacedName{}, quiet(), func(release.Key) {})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go r.Run(ctx)
	begun.Wait()
	wantSeen(t, r.Ended(), false)
	cancel()
	<-r.Ended()
}
