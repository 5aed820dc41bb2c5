package policies

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/policy"
)

// effect is the result of carrying a plan out, for one policy. add, failed and interrupted are safe for concurrent
// use.
type effect struct {
	mu                               sync.Mutex
	created, changed, deleted, moved int
	why                              []string // of deletions and shortened pauses
	pending                          bool
	err                              error // the first failure
}

// add records the result of one write.
func (e *effect) add(r policy.Result, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case errors.Is(err, errUnchanged):
	case errors.Is(err, errOvertaken):
		e.pending = true
	case err != nil:
		e.pending = true
		if e.err == nil {
			e.err = fmt.Errorf("%s HelmRelease of release %s: %w", strings.ToLower(string(r.Outcome)), r.Release, err)
		}
	default:
		e.pending = true // until a plan finds nothing to do
		e.count(r)
	}
}

func (e *effect) count(r policy.Result) {
	if r.Why != "" && !slices.Contains(e.why, r.Why) {
		e.why = append(e.why, r.Why)
	}
	switch r.Outcome {
	case policy.Create:
		e.created++
	case policy.Delete:
		e.deleted++
	case policy.Update:
		if !isNoted(r) {
			e.changed++
		}
		if r.Policy.Spec.Rollout != nil && r.Existing.Spec.Mode == v1alpha1.ModeDetect &&
			r.Desired.Spec.Mode == v1alpha1.ModeEnforce {
			e.moved++
		}
	}
}

// isNoted reports whether an update changes nothing but annotations, such as the start of a hold.
func isNoted(r policy.Result) bool {
	return alike(r.Existing, r.Desired) &&
		equality.Semantic.DeepEqual(r.Existing.OwnerReferences, r.Desired.OwnerReferences)
}

func (e *effect) failed(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = true
	if e.err == nil && !errors.Is(err, errOvertaken) {
		e.err = err
	}
}

// interrupted records that not everything was tried.
func (e *effect) interrupted() { e.failed(errOvertaken) }

// progress returns the effect for the conditions.
func (e *effect) progress() policy.Progress {
	p := policy.Progress{Pending: e.pending}
	if e.err != nil {
		p.Failure = policy.Problem{Reason: v1alpha1.ReasonWriteFailed, Message: e.err.Error()}
		if apierrors.IsForbidden(e.err) {
			p.Failure.Reason = v1alpha1.ReasonForbidden
		}
	}
	return p
}

// errOvertaken reports that a HelmRelease has changed since the plan: its event, and another plan, will follow.
var errOvertaken = errors.New("it has changed meanwhile")

// errUnchanged reports that the API server stores a HelmRelease in another form than the written one.
var errUnchanged = errors.New("the API server has kept it in another form")
