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
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// fenced returns the Secret of an operator with a token.
func fenced(operator, token string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: operator, Name: operator + "-mark", UID: types.UID(operator), ResourceVersion: "1",
		Labels: map[string]string{"owner": "helm-locker"}, Annotations: map[string]string{"helm.cattle.io/mark": token},
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
	check.Equal(t, got, want, "seen")
}

func TestAFenceIsSeenWhenItIsDelivered(t *testing.T) {
	r, changed := follower()
	first, seen := r.Fence()
	r.stores[0].observed(fenced("own", "something else"))
	// Another operator's fence proves nothing about the writes before ours.
	r.stores[0].observed(fenced("another", first))
	unlabelled := fenced("own", first)
	unlabelled.Labels = nil
	r.stores[0].observed(unlabelled)
	r.stores[0].gone(fenced("own", first)) // when it was deleted, not when it was written
	wantSeen(t, seen, false)
	r.stores[0].observed(fenced("own", first))
	wantSeen(t, seen, true)
	r.stores[0].observed(fenced("own", first)) // written again by somebody
	second, seen := r.Fence()
	check.That(t, first != second, "two tokens are both %q", first)
	r.stores[0].observed(fenced("own", first)) // an old token
	wantSeen(t, seen, false)
	r.stores[0].observed(fenced("own", second))
	wantSeen(t, seen, true)
	*changed = (*changed)[:0]
	r.stores[0].gone(fenced("own", second))
	check.That(t, len(*changed) == 0 && len(r.records) == 0 && len(r.keys) == 0,
		"fences count as records: told of %v, remembers %v, %v", *changed, r.records, r.keys)
}

// Objects missing from a list are only known at its end.
func TestAFenceInAListIsSeenWhenTheListHasEnded(t *testing.T) {
	r, _ := follower()
	r.stores[0].observed(secret("1", "a", "10", "deployed"))
	token, seen := r.Fence()
	r.fences.listBegins()
	r.stores[0].observed(fenced("own", token))
	wantSeen(t, seen, false)
	present := map[types.NamespacedName]struct{}{{Namespace: "own", Name: "own-mark"}: {}}
	removed := false
	r.changed = func(key release.Key) {
		removed = true
		wantSeen(t, seen, false)
	}
	r.stores[0].listed(present)
	wantSeen(t, seen, true)
	_, found := r.Newest(web)
	check.That(t, !found && removed, "what is not in the list is still known")
	token, seen = r.Fence()
	r.stores[0].observed(fenced("own", token)) // after the list
	wantSeen(t, seen, true)
}

// A list that ends half-way is restarted, and another API server, a late one, may then answer it.
func TestAFenceInAListThatNeverEndedIsNotSeen(t *testing.T) {
	r, _ := follower()
	token, seen := r.Fence()
	r.fences.listBegins()
	r.stores[0].observed(fenced("own", token))
	r.fences.listBegins()
	r.stores[0].listed(nil)
	wantSeen(t, seen, false)

	// Nor does a later fence count as part of the earlier list.
	_, _ = r.Fence()
	r.fences.listBegins()
	r.stores[0].observed(fenced("own", r.fences.token))
	_, seen = r.Fence()
	r.stores[0].listed(nil)
	wantSeen(t, seen, false)
}

func TestARecordThatIsMadeAFenceIsForgotten(t *testing.T) {
	r, changed := follower()
	r.stores[0].observed(secret("1", "a", "10", "superseded"))
	r.stores[0].observed(secret("2", "b", "20", "deployed"))
	*changed = nil
	relabelled := secret("2", "b", "21", "deployed")
	relabelled.Labels["owner"] = release.OwnerFence
	r.stores[0].observed(relabelled)
	newest(t, r, "sh.helm.release.v1.web.v1 10 superseded")
	check.That(t, len(*changed) == 1 && (*changed)[0] == web, "told of %v", *changed)
	r.stores[0].observed(secret("2", "b", "22", "deployed"))
	newest(t, r, "sh.helm.release.v1.web.v2 22 deployed")
}

// The attempts of the Reflector to list are distinguished, in whichever way it lists, and waiters are released when
// Run ends.
func TestAnAttemptToListBeginsWithNothing(t *testing.T) {
	client := fake.NewSimpleMetadataClient(fake.NewTestScheme())
	var r *Releases
	var begun sync.WaitGroup
	begun.Add(2)
	attempts := 0
	attempt := func() {
		r.fences.mu.Lock()
		listing, listed := r.fences.listing, r.fences.listed
		r.fences.listed = true
		r.fences.mu.Unlock()
		attempts++
		check.That(t, listing && !listed, "attempt %d: listing is %v, what was listed before counts: %v", attempts, listing,
			listed)
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
	r = NewReleases(client, []release.Storage{release.Secrets}, types.NamespacedName{}, fixture.Quiet(),
		func(release.Key) {})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go r.Run(ctx)
	begun.Wait()
	wantSeen(t, r.Ended(), false)
	cancel()
	<-r.Ended()
}
