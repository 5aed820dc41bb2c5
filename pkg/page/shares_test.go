package page

import (
	"context"
	"net/http"
	"sync"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/viewer"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func mallory(r *http.Request) { r.Header.Set("Authorization", "Bearer mallorys") }

// streams returns how many streams a viewer has.
func (s *served) streams(by string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.viewers {
		if v.by == by {
			n++
		}
	}
	return n
}

// A viewer may have all streams while nobody else wants one, and then has an equal share.
func TestHostile_OneViewerDoesNotTakeAllStreams(t *testing.T) {
	s := serve(t)
	for range maxStreams {
		s.expect(s.events(mallory), "operator", "")
	}
	for range maxStreams / 2 {
		check.Equal(t, s.ask(http.MethodHead, "events").status, http.StatusOK, "HEAD says")
		s.expect(s.events(), "operator", "")
	}
	mallorys, janes := s.streams("mallory"), s.streams("jane")
	check.That(t, mallorys == maxStreams/2 && janes == maxStreams/2, "one viewer has %d streams, the other %d", mallorys,
		janes)
	for who, change := range map[string]func(*http.Request){"one": mallory, "the other": func(*http.Request) {}} {
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			check.Equal(t, s.ask(method, "events", change).status, http.StatusServiceUnavailable,
				"%s: one more stream of %s is answered with", method, who)
		}
	}
}

// A viewer who compares has one turn, and the comparison of another viewer waits for it instead of being refused.
func TestHostile_OneViewerDoesNotTakeAllComparisons(t *testing.T) {
	s := serve(t)
	s.store.set("one", "me")
	const path = "diff?namespace=locker&name=one"
	working, finish := make(chan struct{}), make(chan struct{})
	s.compare = func(_ context.Context, _ *v1alpha1.HelmRelease, by viewer.User) (*comparison, error) {
		if by.Name() == "mallory" {
			close(working)
			<-finish
		}
		return &comparison{}, nil
	}
	var running sync.WaitGroup
	compare := func(change ...func(*http.Request)) {
		running.Go(func() {
			check.Equal(t, s.ask(http.MethodGet, path, change...).status, http.StatusOK, "a comparison is answered with")
		})
	}
	compare(mallory)
	<-working
	check.Equal(t, s.ask(http.MethodGet, path, mallory).status, http.StatusTooManyRequests,
		"one more comparison of the viewer is answered with")
	read := s.store.reads.Load()
	compare()
	eventually(t, "the other viewer's comparison is about to wait", func() bool { return s.store.reads.Load() > read })
	close(finish)
	running.Wait()
}
