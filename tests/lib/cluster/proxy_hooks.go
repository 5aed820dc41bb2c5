package cluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Match selects requests; a nil Match selects all. It sees the request as the client sent it, and must not call the
// proxy.
type Match func(*http.Request) bool

func (m Match) matches(r *http.Request) bool { return m == nil || m(r) }

// IsWatch matches requests that open a watch stream.
func IsWatch(r *http.Request) bool {
	watch, err := strconv.ParseBool(r.URL.Query().Get("watch"))
	return err == nil && watch
}

// IsWrite matches requests of the verbs that can write.
func IsWrite(r *http.Request) bool { return isWrite(r.Method) }

func isWrite(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// ForResource matches the requests for a resource, named by its plural ("configmaps"), subresources included, in any
// group, namespace and verb, unless methods are given.
func ForResource(plural string, methods ...string) Match {
	return func(r *http.Request) bool {
		return resourceOf(r.URL.Path) == plural && (len(methods) == 0 || slices.Contains(methods, r.Method))
	}
}

// WatchOf matches the requests that open a watch stream of a resource.
func WatchOf(plural string) Match { return ForResource(plural, http.MethodGet).And(IsWatch) }

// ForPath matches the requests for paths with an ending, in any verb, unless methods are given.
func ForPath(ending string, methods ...string) Match {
	return func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, ending) && (len(methods) == 0 || slices.Contains(methods, r.Method))
	}
}

// ForQuery matches the requests with a part in a parameter of the query, such as "labelSelector".
func ForQuery(parameter, part string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Query().Get(parameter), part) }
}

// IsReal matches the requests that are no dry runs.
func IsReal(r *http.Request) bool { return r.URL.Query().Get("dryRun") == "" }

// And matches the requests that both match.
func (m Match) And(other Match) Match {
	return func(r *http.Request) bool { return m.matches(r) && other(r) }
}

// First matches the first n of the requests that m matches.
func (m Match) First(n int32) Match {
	var seen atomic.Int32
	return func(r *http.Request) bool { return m.matches(r) && seen.Add(1) <= n }
}

// resourceOf returns the plural in a path of the Kubernetes API, or "".
func resourceOf(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	skip := map[string]int{"api": 2, "apis": 3}[segments[0]]
	if skip == 0 || len(segments) <= skip {
		return ""
	}
	segments = segments[skip:]
	if segments[0] == "namespaces" && len(segments) > 2 && segments[2] != "finalize" && segments[2] != "status" {
		return segments[2]
	}
	return segments[0]
}

// Action is a hook's decision about a request. The zero Action forwards it.
type Action struct {
	// Drop closes the connection without an answer; the API server never sees the request.
	Drop bool
	// Status, when not 0, answers with this HTTP code and a Kubernetes Status of Reason and Message; the API server
	// never sees the request.
	Status  int
	Reason  metav1.StatusReason
	Message string
	// RetryAfter, with Status, is the Retry-After header in seconds; 0 sends none.
	RetryAfter int
	// After runs when the API server has done its work and answered, before the client hears of it. It may block, and
	// when it returns an error the connection is closed without the answer.
	After func(*http.Response) error
}

// Forward returns the Action for passing a request on.
func Forward() Action { return Action{} }

// Fail returns the Action for answering with an error, and with the API server's reason for its status.
func Fail(status int, message string) Action {
	return Action{Status: status, Reason: map[int]metav1.StatusReason{
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusGone: metav1.StatusReasonExpired,
		http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	}[status], Message: message}
}

// Drop returns the Action for breaking the connection before the API server receives the request.
func Drop() Action { return Action{Drop: true} }

// DropAnswer returns the Action for breaking the connection after the API server has processed the request.
func DropAnswer() Action {
	return Action{After: func(*http.Response) error { return http.ErrAbortHandler }}
}

type hook struct {
	decide func(*http.Request) Action
}

// Intercept calls a hook for every request before it is forwarded, after the earlier hooks. The hook may block, and
// runs concurrently with itself; it should return when the request's context ends. It reads the body of a write by
// r.GetBody. The returned function removes the hook, and does not wait for a running call.
func (p *Proxy) Intercept(decide func(*http.Request) Action) (remove func()) {
	added := &hook{decide: decide}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks = append(p.hooks, added)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hooks = slices.DeleteFunc(p.hooks, func(h *hook) bool { return h == added })
	}
}

// On answers the matching requests with an action, until it is removed.
func (p *Proxy) On(match Match, action Action) (remove func()) {
	return p.Intercept(func(r *http.Request) Action {
		if match.matches(r) {
			return action
		}
		return Forward()
	})
}

func (p *Proxy) currentHooks() []func(*http.Request) Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	decide := make([]func(*http.Request) Action, len(p.hooks))
	for i, h := range p.hooks {
		decide[i] = h.decide
	}
	return decide
}

// Hold keeps requests back, from HoldRequests or HoldAnswers until Release.
type Hold struct {
	remove   func()
	released chan struct{}
	once     sync.Once

	// mu guards count and changed.
	mu    sync.Mutex
	count int
	// changed is closed and replaced when count changes.
	changed chan struct{}
}

// HoldRequests keeps matching requests from the API server until Release.
func (p *Proxy) HoldRequests(match Match) *Hold {
	h := newHold()
	h.remove = p.Intercept(func(r *http.Request) Action {
		if match.matches(r) && h.wait(r.Context()) != nil {
			return Drop()
		}
		return Forward()
	})
	return h
}

// HoldAnswers forwards matching requests to the API server, and keeps the answers from the client until Release. (For
// the events of an open watch, see HoldWatch.)
func (p *Proxy) HoldAnswers(match Match) *Hold {
	h := newHold()
	h.remove = p.Intercept(func(r *http.Request) Action {
		if !match.matches(r) {
			return Forward()
		}
		return Action{After: func(response *http.Response) error { return h.wait(response.Request.Context()) }}
	})
	return h
}

func newHold() *Hold { return &Hold{released: make(chan struct{}), changed: make(chan struct{})} }

// wait holds one request until Release (nil) or until its client gives up.
func (h *Hold) wait(ctx context.Context) error {
	h.mu.Lock()
	h.count++
	close(h.changed)
	h.changed = make(chan struct{})
	h.mu.Unlock()
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait returns when at least n requests have arrived at the hold, counted from its creation. A minute is
// enough.
func (h *Hold) Wait(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		h.mu.Lock()
		count, changed := h.count, h.changed
		h.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d requests arrived at the hold: %w", count, n, ctx.Err())
		}
	}
}

// Arrived returns how many requests have arrived at the hold so far.
func (h *Hold) Arrived() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// Release lets the held requests go, and new ones pass. It may be called more than once.
func (h *Hold) Release() {
	h.once.Do(func() {
		h.remove()
		close(h.released)
	})
}
