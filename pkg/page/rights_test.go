package page

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/viewer"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// knows returns viewers of whom two are known, by their tokens "janes" and "mallorys". They may do what may says.
func knows(may func(authorizationv1.ResourceAttributes) bool) *viewer.Reviewer {
	return knowsBy(clock.RealClock{}, may)
}

func knowsBy(clk clock.PassiveClock, may func(authorizationv1.ResourceAttributes) bool) *viewer.Reviewer {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(action k8stesting.Action) (bool, runtime.Object, error) {
		review := action.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		if name := map[string]string{"janes": "jane", "mallorys": "mallory"}[review.Spec.Token]; name != "" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true,
				User: authenticationv1.UserInfo{Username: name}}
		}
		return true, review, nil
	})
	client.PrependReactor("create", "subjectaccessreviews",
		func(action k8stesting.Action) (bool, runtime.Object, error) {
			review := action.(k8stesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
			review.Status.Allowed = review.Spec.User != "" && may(*review.Spec.ResourceAttributes)
			return true, review, nil
		})
	return viewer.New(client, clk, fixture.Quiet())
}

func TestViewersSeeWhatTheyMay(t *testing.T) {
	none := func(r *http.Request) { r.Header.Del("Authorization") }
	stranger := func(r *http.Request) { r.Header.Set("Authorization", "Bearer of-another") }
	jane := func(*http.Request) {}
	const which = "?namespace=locker&name=one"
	const diff, one, names, events = "diff" + which, "release" + which, "objects" + which, "events"
	for name, tc := range map[string]struct {
		may    string // the verb that Jane has
		who    func(*http.Request)
		method string
		path   string
		want   int
	}{
		"the page itself is no secret":           {"", none, http.MethodGet, "", http.StatusOK},
		"a stream needs a token":                 {"list", none, http.MethodHead, events, http.StatusUnauthorized},
		"a stream needs a token that is known":   {"list", stranger, http.MethodHead, events, http.StatusUnauthorized},
		"a stream needs the right to list":       {"get", jane, http.MethodHead, events, http.StatusForbidden},
		"who may list has a stream":              {"list", jane, http.MethodHead, events, http.StatusOK},
		"a release needs a token":                {"list", none, http.MethodGet, one, http.StatusUnauthorized},
		"a release needs the right to list":      {"get", jane, http.MethodGet, one, http.StatusForbidden},
		"who may list sees a release":            {"list", jane, http.MethodGet, one, http.StatusOK},
		"objects need a token":                   {"get", none, http.MethodGet, names, http.StatusUnauthorized},
		"objects need the right to get it":       {"list", jane, http.MethodGet, names, http.StatusForbidden},
		"a comparison needs a token":             {"get", none, http.MethodGet, diff, http.StatusUnauthorized},
		"a comparison needs the right to get it": {"list", jane, http.MethodGet, diff, http.StatusForbidden},
		"who may get it has a comparison":        {"get", jane, http.MethodGet, diff, http.StatusOK},
		"who may not get it learns not if it is": {"list", jane, http.MethodGet, "diff?namespace=locker&name=none",
			http.StatusForbidden},
		"a stream of somebody without any rights": {"", jane, http.MethodGet, events, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(p *Page) {
				p.Viewers = knows(func(a authorizationv1.ResourceAttributes) bool {
					return a.Verb == tc.may && a.Resource == helmReleases && a.Group == "helm.cattle.io" &&
						a.Namespace == "locker"
				})
			})
			s.store.set("one", "me")
			s.compare = func(context.Context, *v1alpha1.HelmRelease, viewer.User) (*comparison, error) {
				return &comparison{}, nil
			}
			got := s.ask(tc.method, tc.path, tc.who)
			check.That(t, got.status == tc.want, "answered with %d %s, not %d", got.status, got.body, tc.want)
			if challenge := got.header.Get("WWW-Authenticate"); got.status == http.StatusUnauthorized &&
				tc.path == events && challenge != "Bearer" {
				t.Errorf("the challenge is %q", challenge)
			}
		})
	}
}

func TestWithoutViewersThereAreStatesAndNoComparisons(t *testing.T) {
	s := serve(t, func(p *Page) { p.Viewers = nil })
	s.store.set("one", "me")
	s.compare = func(context.Context, *v1alpha1.HelmRelease, viewer.User) (*comparison, error) {
		t.Error("a comparison was made")
		return &comparison{}, nil
	}
	next := s.events()
	s.expect(next, "operator", `"compares":false`)
	s.expect(next, "release", `"key":"locker/one"`)
	for _, path := range []string{"diff", "objects"} {
		got := s.ask(http.MethodGet, path+"?namespace=locker&name=one")
		check.That(t, got.status == http.StatusForbidden && strings.Contains(got.body, "--page-auth"),
			"%s is answered with %d %s", path, got.status, got.body)
	}
}

// The stream of a viewer whose right is taken away ends with the next sign of life.
func TestAStreamEndsWithTheRightToIt(t *testing.T) {
	var allowed atomic.Bool
	allowed.Store(true)
	clk := testclock.NewFakeClock(clock.RealClock{}.Now())
	s := serve(t, func(p *Page) {
		p.Clock = clk
		p.Viewers = knowsBy(clk, func(authorizationv1.ResourceAttributes) bool { return allowed.Load() })
	})
	next := s.events()
	s.expect(next, "operator", `"compares":true`)
	s.expect(next, "listed", "0")
	allowed.Store(false)
	viewers := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.viewers)
	}
	eventually(t, "the stream waits", clk.HasWaiters)
	eventually(t, "the stream has ended", func() bool {
		clk.Step(beatEvery)
		return viewers() == 0
	})
}

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
	check.That(t, mallorys == maxStreams/2 && janes == maxStreams/2, "one viewer has %d streams, the other %d",
		mallorys, janes)
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
			check.Equal(t, s.ask(http.MethodGet, path, change...).status, http.StatusOK,
				"a comparison is answered with")
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
