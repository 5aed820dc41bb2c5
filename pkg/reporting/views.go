package reporting

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// View is a consistent copy of the inputs of a status, with the facts beside it.
type View struct {
	status.View
	ledger.Bookkeeping
}

// Views makes the View of a HelmRelease. It is safe for concurrent use.
type Views struct {
	Ledger  *ledger.Ledger
	Table   *lock.Table
	Objects *watch.Objects
	Clock   clock.PassiveClock
	// guardState is the registration of the guard at the API server; nil while unknown.
	guardState atomic.Pointer[guard.State]
}

// SetGuard records the registration of the guard at the API server. It reports whether it is a new one.
func (vs *Views) SetGuard(s guard.State) (changed bool) {
	before := vs.guardState.Swap(&s)
	return before == nil || !reflect.DeepEqual(*before, s)
}

// notServed is the state of an operator without a guard.
var notServed = guard.State{Reason: v1alpha1.ReasonGuardNotServed,
	Message: "the operator serves no guard: set guard.enabled in the values of its chart (--guard-address)"}

// View returns the view of a HelmRelease, false when it is not known.
func (vs *Views) View(key string) (*View, bool) {
	v := &View{}
	known := vs.Ledger.Update(key, func(e *ledger.Entry) {
		v.Facts, v.Bookkeeping = e.Facts, e.Bookkeeping
		v.Recent, v.Reverted = slices.Clone(e.History.Recent), e.History.Reverted
	})
	if !known {
		return nil, false
	}
	if v.Lock = vs.Table.Get(key); v.Lock != nil {
		v.Sum = v.Lock.Summarize(vs.Clock.Now())
	}
	v.WatchErr = firstError(vs.Objects.Errors(v.Kinds))
	state := &notServed
	if known := vs.guardState.Load(); known != nil {
		state = known
	}
	v.Guard = status.Problem{Reason: state.Reason, Message: state.Message}
	v.Guarded = v.Guards != nil
	v.Asked = v.Guarded && state.Asked.Covers(v.Guards)
	return v, true
}

// firstError returns the most informative error of the failed watches, nil for none. The order is fixed, so the same
// errors give the same result: a missing permission first, then by kind.
func firstError(errs map[schema.GroupVersionKind]error) error {
	kinds := slices.SortedFunc(maps.Keys(errs), func(a, b schema.GroupVersionKind) int {
		if x, y := apierrors.IsForbidden(errs[a]), apierrors.IsForbidden(errs[b]); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a.String(), b.String())
	})
	if len(kinds) == 0 {
		return nil
	}
	return fmt.Errorf("watch of %s: %w", kinds[0].Kind, errs[kinds[0]])
}
