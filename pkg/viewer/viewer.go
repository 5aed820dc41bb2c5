// Package viewer says who reads the status page or the metrics, and what they may. It decides nothing itself: the
// API server says whose bearer token a request has (TokenReview) and what that user may do (SubjectAccessReview).
// Answers are kept for some seconds, so that a right that is taken away ends as soon.
package viewer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/report"
)

const (
	// answersKept and keptFor bound what is remembered of the API server's answers, of each kind.
	answersKept = 1024
	keptFor     = 10 * time.Second
	// questionsAtOnce bounds the requests to the API server that are in flight: every client can send tokens.
	questionsAtOnce = 8
	// questionTimeout is how long a question may take, waiting for others included.
	questionTimeout = 10 * time.Second
)

// Refusal says that a viewer is turned away, and why. Its words are for the viewer.
type Refusal struct {
	// Status is http.StatusUnauthorized without a valid token, http.StatusForbidden without the right, and
	// http.StatusBadGateway when the API server does not tell.
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Write answers a request with the refusal.
func (r *Refusal) Write(w http.ResponseWriter) {
	if r.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	http.Error(w, report.Line(r.Message), r.Status)
}

// User is who sent a request, as the API server says.
type User struct{ info authenticationv1.UserInfo }

// Name returns the user's name.
func (u User) Name() string { return u.info.Username }

// Access is something that a user may do or not: with objects, or with a path.
type Access struct {
	Resource *authorizationv1.ResourceAttributes
	Path     *authorizationv1.NonResourceAttributes
}

// String returns the access in the words of the API server, as in `list resource "helmreleases" in API group
// "helm.cattle.io" in the namespace "cattle-helm-system"`.
func (a Access) String() string {
	if a.Path != nil {
		return fmt.Sprintf("%s path %q", a.Path.Verb, a.Path.Path)
	}
	text := fmt.Sprintf("%s resource %q in API group %q", a.Resource.Verb, a.Resource.Resource, a.Resource.Group)
	if a.Resource.Namespace != "" {
		return text + fmt.Sprintf(" in the namespace %q", a.Resource.Namespace)
	}
	return text + " at the cluster scope"
}

// Reviewer asks the API server who viewers are, and what they may. It is safe for concurrent use.
type Reviewer struct {
	client  kubernetes.Interface
	log     logrus.FieldLogger
	users   *cache.LRUExpireCache // userAnswer by digest of the token
	rights  *cache.LRUExpireCache // bool by digest of user and access
	asking  *semaphore.Weighted
	timeout time.Duration
}

// userAnswer is what the API server said about a token; user is nil for one that is not valid.
type userAnswer struct{ user *User }

// New returns a Reviewer. The client needs the permission to create tokenreviews and subjectaccessreviews.
func New(client kubernetes.Interface, clk clock.PassiveClock, log logrus.FieldLogger) *Reviewer {
	return &Reviewer{
		client: client, log: log, users: cache.NewLRUExpireCacheWithClock(answersKept, clk),
		rights: cache.NewLRUExpireCacheWithClock(answersKept, clk),
		asking: semaphore.NewWeighted(questionsAtOnce), timeout: questionTimeout,
	}
}

// Require returns who sent a request, when they may have the access, and otherwise a refusal.
func (r *Reviewer) Require(request *http.Request, access Access) (User, *Refusal) {
	ctx, cancel := context.WithTimeout(request.Context(), r.timeout)
	defer cancel()
	user, err := r.user(ctx, request.Header)
	if err != nil {
		return User{}, r.refusal(err)
	}
	allowed, err := r.May(ctx, user, access)
	switch {
	case err != nil:
		return User{}, r.refusal(err)
	case !allowed:
		return User{}, &Refusal{http.StatusForbidden, fmt.Sprintf("user %q cannot %s", user.Name(), access)}
	}
	return user, nil
}

// May reports whether a user may have an access.
func (r *Reviewer) May(ctx context.Context, user User, access Access) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: access.Resource, NonResourceAttributes: access.Path,
		User: user.info.Username, UID: user.info.UID, Groups: user.info.Groups, Extra: extra(user.info.Extra),
	}}
	encoded, err := json.Marshal(review.Spec)
	if err != nil {
		return false, fmt.Errorf("encode an access review: %w", err)
	}
	digest := sha256.Sum256(encoded)
	if known, found := r.rights.Get(digest); found {
		allowed, ok := known.(bool)
		return allowed && ok, nil
	}
	err = r.ask(ctx, func() (err error) {
		review, err = r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("ask the API server what a viewer may do: %w", err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	r.rights.Add(digest, allowed, keptFor)
	return allowed, nil
}

// user returns whose bearer token is in the header of a request. The error is a *Refusal when there is none, or one
// that is not valid.
func (r *Reviewer) user(ctx context.Context, header http.Header) (User, error) {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return User{}, &Refusal{http.StatusUnauthorized,
			"a bearer token of a Kubernetes user or ServiceAccount is needed"}
	}
	digest := sha256.Sum256([]byte(token))
	known, found := r.users.Get(digest)
	answer, ok := known.(userAnswer)
	if !found || !ok {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		err := r.ask(ctx, func() (err error) {
			review, err = r.client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return User{}, fmt.Errorf("ask the API server whose token it is: %w", err)
		}
		if review.Status.Authenticated && review.Status.User.Username != "" {
			answer.user = &User{review.Status.User}
		}
		r.users.Add(digest, answer, keptFor)
	}
	if answer.user == nil {
		return User{}, &Refusal{http.StatusUnauthorized, "the API server does not know this token, or it has expired"}
	}
	return *answer.user, nil
}

func (r *Reviewer) ask(ctx context.Context, question func() error) error {
	if err := r.asking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.asking.Release(1)
	return question()
}

// refusal turns an error into what a viewer is told. What the API server says is for the log of the operator.
func (r *Reviewer) refusal(err error) *Refusal {
	var refused *Refusal
	if errors.As(err, &refused) {
		return refused
	}
	if !errors.Is(err, context.Canceled) {
		r.log.Errorf(
			"a viewer is turned away: %v (it needs the permission to create tokenreviews and subjectaccessreviews)",
			err,
		)
	}
	return &Refusal{
		http.StatusBadGateway, "the API server does not tell whether you may read this; the log of the operator says " +
			"why",
	}
}

func extra(from map[string]authenticationv1.ExtraValue) map[string]authorizationv1.ExtraValue {
	if from == nil {
		return nil
	}
	to := make(map[string]authorizationv1.ExtraValue, len(from))
	for key, value := range from {
		to[key] = authorizationv1.ExtraValue(value)
	}
	return to
}

// Guard lets requests through to next when their sender may get a path, such as "/metrics".
func (r *Reviewer) Guard(path string, next http.Handler) http.Handler {
	access := Access{Path: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"}}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if _, refused := r.Require(request, access); refused != nil {
			refused.Write(w)
			return
		}
		next.ServeHTTP(w, request)
	})
}
