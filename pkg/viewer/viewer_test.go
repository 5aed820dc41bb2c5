package viewer

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// api is an API server with one token, and with the rights of its user.
type api struct {
	*Reviewer
	clock            *testclock.FakeClock
	log              bytes.Buffer
	tokens, accesses atomic.Int32
	allowed, denied  bool
	revoked          atomic.Bool
	hold             func(token, user string) // before an answer; nil for none
	err              error
	asked            authorizationv1.SubjectAccessReviewSpec
}

func newAPI() *api {
	a := &api{clock: testclock.NewFakeClock(time.Unix(0, 0)), allowed: true}
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(action k8stesting.Action) (bool, runtime.Object, error) {
		review := action.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		if review.Spec.Token == "good" && !a.revoked.Load() {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: "jane", UID: "1", Groups: []string{"devs"},
				Extra: map[string]authenticationv1.ExtraValue{"scope": {"x"}},
			}}
		}
		return true, review, a.err
	})
	client.PrependReactor("create", "subjectaccessreviews",
		func(action k8stesting.Action) (bool, runtime.Object, error) {
			review := action.(k8stesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
			a.asked = review.Spec
			review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: a.allowed, Denied: a.denied}
			return true, review, a.err
		})
	log := logrus.New()
	log.SetOutput(&a.log)
	a.Reviewer = New(slow{client, a}, a.clock, log)
	a.pace = rate.NewLimiter(rate.Inf, 0)
	return a
}

// status returns how /metrics is answered to a request with an Authorization header.
func (a *api) status(authorization string) int { return a.statusFor("192.0.2.1", authorization) }

// statusFor does the same for a request from an address.
func (a *api) statusFor(address, authorization string) int {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.RemoteAddr = address + ":1234"
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	recorder := httptest.NewRecorder()
	a.Guard("/metrics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(recorder, request)
	if recorder.Code == http.StatusUnauthorized && recorder.Header().Get("WWW-Authenticate") != "Bearer" {
		return 0
	}
	return recorder.Code
}

func TestOnlyThoseWhoMayAreLetThrough(t *testing.T) {
	for name, tc := range map[string]struct {
		authorization   string
		allowed, denied bool
		err             error
		want            int
	}{
		"may":                       {"Bearer good", true, false, nil, http.StatusOK},
		"may not":                   {"Bearer good", false, false, nil, http.StatusForbidden},
		"is denied":                 {"Bearer good", true, true, nil, http.StatusForbidden},
		"no token":                  {"", true, false, nil, http.StatusUnauthorized},
		"an empty token":            {"Bearer  ", true, false, nil, http.StatusUnauthorized},
		"another scheme":            {"Basic good", true, false, nil, http.StatusUnauthorized},
		"an unknown token":          {"bearer bad", true, false, nil, http.StatusUnauthorized},
		"an API server with errors": {"Bearer good", true, false, errors.New("no answer"), http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI()
			a.allowed, a.denied, a.err = tc.allowed, tc.denied, tc.err
			check.Equal(t, a.status(tc.authorization), tc.want, "answered with")
			check.That(t, !strings.Contains(a.log.String(), "good"), "the log has the token: %s", &a.log)
		})
	}
}

func TestTheQuestionIsAboutTheUserAndThePath(t *testing.T) {
	a := newAPI()
	a.status("Bearer good")
	want := authorizationv1.SubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		User:                  "jane", UID: "1", Groups: []string{"devs"},
		Extra: map[string]authorizationv1.ExtraValue{"scope": {"x"}},
	}
	check.Equal(t, fmt.Sprint(a.asked), fmt.Sprint(want), "asked %v, not %v", a.asked, want)
}

func TestAnswersAreKeptForAWhileAndNoLonger(t *testing.T) {
	a := newAPI()
	for range 3 {
		a.status("Bearer good")
		a.status("Bearer bad")
	}
	check.That(t, a.tokens.Load() == 2 && a.accesses.Load() == 1, "%d token reviews and %d access reviews",
		a.tokens.Load(), a.accesses.Load())
	a.allowed = false
	check.Equal(t, a.status("Bearer good"), http.StatusOK, "answered with")
	a.clock.Step(keptFor + time.Millisecond)
	check.Equal(t, a.status("Bearer good"), http.StatusForbidden, "a right that was taken away lasts")
	// Many tokens are not kept for good.
	for i := range 3 * answersKept {
		a.status(fmt.Sprint("Bearer bad", i))
	}
	n := len(a.users.Keys())
	check.That(t, n <= answersKept, "%d answers are kept", n)
}

func TestAnErrorIsNotKept(t *testing.T) {
	a := newAPI()
	a.err = errors.New("no answer")
	a.status("Bearer good")
	a.err = nil
	check.Equal(t, a.status("Bearer good"), http.StatusOK, "answered with")
}
