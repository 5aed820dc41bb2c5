// Package viewer authenticates and authorizes the readers of the status page and the metrics. It delegates both to the
// API server: TokenReview for the bearer token of a request, and SubjectAccessReview for the rights of its user.
// Answers are cached for some seconds, so a revoked right ends as soon.
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
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/serving"
)

const (
	// answersKept and keptFor bound each cache of the API server's answers.
	answersKept = 1024
	keptFor     = 10 * time.Second
	// viewersAtOnce bounds the requests in flight to the API server about all viewers, and viewerAtOnce those about
	// one. viewerMost also counts the waiting requests about one viewer.
	viewersAtOnce, viewerAtOnce, viewerMost = 8, 4, 32
	// strangersAtOnce, strangerAtOnce and strangerMost bound the requests about unknown tokens, from all addresses and
	// from one. Every client can send such tokens, so they take nothing of the share of viewers.
	strangersAtOnce, strangerAtOnce, strangerMost = 2, 1, 8
	// strangersPerSecond bounds the load on the API server, where such requests count as the operator's own.
	strangersPerSecond = 20
	// knownFor is the time for which a valid token counts as known. The API server reviews it all the same.
	knownFor = time.Hour
	// questionTimeout bounds the wait for an answer, waiting for others included.
	questionTimeout = 10 * time.Second
)

// ErrTooMany is the error for a viewer that has reached its limit of concurrent requests.
var ErrTooMany = errors.New("too many requests at once; try again in some seconds")

// Refusal is the error for a viewer without access. Its message is for the viewer.
type Refusal struct {
	// Status is http.StatusUnauthorized without a valid token, http.StatusForbidden without the right,
	// http.StatusTooManyRequests when the viewer has too many requests in flight, and http.StatusBadGateway when the
	// API server does not answer.
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Write answers a request with the refusal.
func (r *Refusal) Write(w http.ResponseWriter) {
	if r.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	http.Error(w, plain.Line(r.Message), r.Status)
}

// User is the authenticated sender of a request.
type User struct {
	info  authenticationv1.UserInfo
	token string
}

// Account returns the user of a ServiceAccount, by its user name (system:serviceaccount:NAMESPACE:NAME), with its
// groups in the API server.
func Account(username string) User {
	groups := []string{"system:serviceaccounts", "system:authenticated"}
	if parts := strings.Split(username, ":"); len(parts) == 4 {
		groups = append(groups, "system:serviceaccounts:"+parts[2])
	}
	return User{info: authenticationv1.UserInfo{Username: username, Groups: groups}}
}

// Name returns the user's name.
func (u User) Name() string { return u.info.Username }

// Token returns the bearer token of the user's request; empty for an Account.
func (u User) Token() string { return u.token }

// Access is a verb on objects or on a path, to authorize.
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

// Reviewer authenticates and authorizes viewers by the API server. It is safe for concurrent use.
type Reviewer struct {
	client kubernetes.Interface
	log    logrus.FieldLogger
	users  *cache.LRUExpireCache // userAnswer by digest of the token
	known  *cache.LRUExpireCache // the name of the user by digest of a token that was valid
	rights *cache.LRUExpireCache // bool by digest of user and access

	viewers   *fair.Semaphore // by name of the user
	strangers *fair.Semaphore // by address
	pace      *rate.Limiter   // of the questions about tokens that are not known
	timeout   time.Duration
}

// userAnswer is the API server's answer about a token; user is nil for an invalid one.
type userAnswer struct{ user *User }

// New returns a Reviewer. The client needs the permission to create tokenreviews and subjectaccessreviews.
func New(client kubernetes.Interface, clk clock.PassiveClock, log logrus.FieldLogger) *Reviewer {
	return &Reviewer{
		client: client, log: log, users: cache.NewLRUExpireCacheWithClock(answersKept, clk),
		known:     cache.NewLRUExpireCacheWithClock(answersKept, clk),
		rights:    cache.NewLRUExpireCacheWithClock(answersKept, clk),
		viewers:   fair.NewSemaphore(fair.Limits{All: viewersAtOnce, Each: viewerAtOnce, Most: viewerMost}),
		strangers: fair.NewSemaphore(fair.Limits{All: strangersAtOnce, Each: strangerAtOnce, Most: strangerMost}),
		pace:      rate.NewLimiter(strangersPerSecond, strangersPerSecond), timeout: questionTimeout,
	}
}

// Require returns the sender of a request if they have the access, and otherwise a refusal.
func (r *Reviewer) Require(request *http.Request, access Access) (User, *Refusal) {
	ctx, cancel := context.WithTimeout(request.Context(), r.timeout)
	defer cancel()
	user, err := r.user(ctx, request)
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
	review := accounts.Review(user.info)
	review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes = access.Resource, access.Path
	encoded, err := json.Marshal(review.Spec)
	if err != nil {
		return false, fmt.Errorf("encode an access review: %w", err)
	}
	digest := sha256.Sum256(encoded)
	if known, found := r.rights.Get(digest); found {
		allowed, ok := known.(bool)
		return allowed && ok, nil
	}
	err = r.viewers.Do(ctx, user.Name(), func() (err error) {
		review, err = r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("review the access of a viewer: %w", err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	r.rights.Add(digest, allowed, keptFor)
	return allowed, nil
}

// user returns the user of a request's bearer token. The error is a *Refusal when the token is missing or invalid.
func (r *Reviewer) user(ctx context.Context, request *http.Request) (User, error) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return User{}, &Refusal{http.StatusUnauthorized,
			"a bearer token of a Kubernetes user or ServiceAccount is needed"}
	}
	digest := sha256.Sum256([]byte(token))
	answer, err := r.answer(ctx, request, token, digest)
	if err != nil {
		return User{}, fmt.Errorf("review the token: %w", err)
	}
	if answer.user == nil {
		return User{}, &Refusal{http.StatusUnauthorized, "the API server does not know this token, or it has expired"}
	}
	user := *answer.user
	user.token = token
	return user, nil
}

// answer returns the API server's answer about a token, from the cache or by a review.
func (r *Reviewer) answer(
	ctx context.Context, request *http.Request, token string, digest [sha256.Size]byte,
) (answer userAnswer, err error) {
	kept := func() bool {
		known, found := r.users.Get(digest)
		answer, _ = known.(userAnswer)
		return found
	}
	if kept() {
		return answer, nil
	}
	ask := func() error {
		if kept() { // another request with the token was before
			return nil
		}
		answer, err = r.review(ctx, token, digest)
		return err
	}
	if name, known := r.known.Get(digest); known {
		err = r.viewers.Do(ctx, fmt.Sprint(name), ask)
	} else {
		err = r.strangers.Do(ctx, serving.Source(request), func() error {
			if err := r.pace.Wait(ctx); err != nil {
				return err
			}
			return ask()
		})
	}
	return answer, err
}

// review sends a TokenReview, and caches the answer.
func (r *Reviewer) review(ctx context.Context, token string, digest [sha256.Size]byte) (answer userAnswer, err error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err = r.client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return userAnswer{}, err
	}
	if review.Status.Authenticated && review.Status.User.Username != "" {
		answer.user = &User{info: review.Status.User}
		r.known.Add(digest, answer.user.Name(), knownFor)
	} else {
		r.known.Remove(digest)
	}
	r.users.Add(digest, answer, keptFor)
	return answer, nil
}

// refusal turns an error into the answer for a viewer. The API server's message goes only to the log.
func (r *Reviewer) refusal(err error) *Refusal {
	var refused *Refusal
	if errors.As(err, &refused) {
		return refused
	}
	if errors.Is(err, fair.ErrBusy) {
		return &Refusal{http.StatusTooManyRequests, ErrTooMany.Error()}
	}
	if !errors.Is(err, context.Canceled) {
		r.log.Errorf(
			"a viewer is turned away: %v (it needs the permission to create tokenreviews and subjectaccessreviews)",
			err,
		)
	}
	return &Refusal{
		http.StatusBadGateway, "the API server did not answer whether you may read this; see the log of this server",
	}
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
