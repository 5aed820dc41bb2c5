package viewer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// slow counts questions and keeps them waiting, side by side, as the fake client itself does not.
type slow struct {
	kubernetes.Interface
	a *api
}

type (
	slowTokens struct {
		authentication.AuthenticationV1Interface
		authentication.TokenReviewInterface
		a *api
	}
	slowAccesses struct {
		authorization.AuthorizationV1Interface
		authorization.SubjectAccessReviewInterface
		a *api
	}
)

func (s slow) AuthenticationV1() authentication.AuthenticationV1Interface {
	all := s.Interface.AuthenticationV1()
	return slowTokens{all, all.TokenReviews(), s.a}
}

func (s slow) AuthorizationV1() authorization.AuthorizationV1Interface {
	all := s.Interface.AuthorizationV1()
	return slowAccesses{all, all.SubjectAccessReviews(), s.a}
}

func (s slowTokens) TokenReviews() authentication.TokenReviewInterface { return s }

func (s slowTokens) Create(
	ctx context.Context, review *authenticationv1.TokenReview, options metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	s.a.tokens.Add(1)
	if s.a.hold != nil {
		s.a.hold(review.Spec.Token, "")
	}
	return s.TokenReviewInterface.Create(ctx, review, options)
}

func (s slowAccesses) SubjectAccessReviews() authorization.SubjectAccessReviewInterface { return s }

func (s slowAccesses) Create(
	ctx context.Context, review *authorizationv1.SubjectAccessReview, options metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	s.a.accesses.Add(1)
	if s.a.hold != nil {
		s.a.hold("", review.Spec.User)
	}
	return s.SubjectAccessReviewInterface.Create(ctx, review, options)
}

// held has an API server keep some questions waiting until the function that it returns is called.
func (a *api) held(hold func(token, user string) bool) (release func()) {
	held := make(chan struct{})
	a.hold = func(token, user string) {
		if hold(token, user) {
			<-held
		}
	}
	return func() { close(held) }
}

// Clients with unknown tokens, from many addresses and in any number, delay no known viewer. A new viewer waits for the
// clients of other addresses.
func TestHostile_UnknownTokensLeaveViewersTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		got := a.status("Bearer good")
		check.Must(t, got == http.StatusOK, "answered with %d", got)
		release := a.held(func(token, _ string) bool { return strings.HasPrefix(token, "bad") })
		var flood sync.WaitGroup
		for i := range 100 {
			flood.Go(func() { a.statusFor(fmt.Sprintf("10.0.0.%d", i%10), fmt.Sprint("Bearer bad", i)) })
		}
		synctest.Wait()
		n := a.tokens.Load()
		check.That(t, n == 1+strangersAtOnce, "%d questions, and %d at once are allowed", n-1, strangersAtOnce)
		a.clock.Step(keptFor + time.Millisecond)
		got = a.status("Bearer good")
		check.That(t, got == http.StatusOK && a.tokens.Load() == 2+strangersAtOnce,
			"a viewer whose token is known is answered with %d", got)
		check.Equal(t, a.statusFor("10.0.0.1", "Bearer bad"), http.StatusTooManyRequests,
			"a client that has many requests under way is answered with")
		release()
		flood.Wait()
		check.That(t, !strings.Contains(a.log.String(), "turned away"), "the log can be flooded: %s", &a.log)
	})
}

// A flood from one address leaves a share to a viewer whose token is not known yet.
func TestHostile_OneAddressLeavesTheOthersTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		release := a.held(func(token, _ string) bool { return strings.HasPrefix(token, "bad") })
		var flood sync.WaitGroup
		for i := range 100 {
			flood.Go(func() { a.statusFor("10.0.0.1", fmt.Sprint("Bearer bad", i)) })
		}
		synctest.Wait()
		check.Equal(t, a.statusFor("10.0.0.2", "Bearer good"), http.StatusOK, "a new viewer is answered with")
		release()
		flood.Wait()
	})
}

// A viewer with requests outside of the cache has a share of the questions.
func TestHostile_OneViewerLeavesTheOthersTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		release := a.held(func(_, user string) bool { return user == "mallory" })
		mallory := User{info: authenticationv1.UserInfo{Username: "mallory"}}
		var flood sync.WaitGroup
		for i := range 100 {
			flood.Go(func() {
				access := Access{Resource: &authorizationv1.ResourceAttributes{Verb: "get", Name: fmt.Sprint(i)}}
				if _, err := a.May(t.Context(), mallory, access); err != nil && !errors.Is(err, fair.ErrBusy) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		n := a.accesses.Load()
		check.That(t, n == viewerAtOnce, "%d questions at once", n)
		check.Equal(t, a.status("Bearer good"), http.StatusOK, "another viewer is answered with")
		release()
		flood.Wait()
	})
}

// The questions about unknown tokens come at a pace without effect on the API server.
func TestHostile_UnknownTokensAreAskedAboutAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.pace = rate.NewLimiter(strangersPerSecond, strangersPerSecond)
		begun := time.Now()
		for i := range 5 * strangersPerSecond {
			a.status(fmt.Sprint("Bearer bad", i))
		}
		took := time.Since(begun)
		check.That(t, took >= 4*time.Second-time.Millisecond, "%d questions took %s", 5*strangersPerSecond, took)
	})
}

// An expired token counts as unknown.
func TestATokenIsKnownWhileItIsValid(t *testing.T) {
	a := newAPI()
	a.status("Bearer good")
	n := len(a.known.Keys())
	check.That(t, n == 1, "%d tokens are known", n)
	a.revoked.Store(true)
	a.clock.Step(keptFor + time.Millisecond)
	got := a.status("Bearer good")
	check.That(t, got == http.StatusUnauthorized && len(a.known.Keys()) == 0,
		"answered with %d, and %d tokens are known", got, len(a.known.Keys()))
}
