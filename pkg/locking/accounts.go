package locking

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/accounts"
	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

const (
	// The delay between checks of denied objects, doubled every time.
	denialSoonest = time.Second
	denialLatest  = time.Minute
)

// rights knows the objects that the account of a release may change.
type rights struct{ *Options }

func (rt *rights) mayPatch(account string) accounts.Ask {
	return func(ctx context.Context, o accounts.Object) (bool, error) {
		return rt.Accounts.MayPatch(ctx,
			enforce.Object{GVR: o.GVR, Namespace: o.Namespace, Name: o.Name, Account: account})
	}
}

// hold sets the account under which the objects of a release are written. It removes the objects that the account may
// not change, and returns them. A release does not own, compare or take over a denied object: a forged manifest is
// neither a claim nor a way to find out about objects beyond its author's rights. Without an account, the operator
// writes in its own name and may change everything.
func (rt *rights) hold(ctx context.Context, account string, ld *load.Revision) (denied []status.Denial, err error) {
	if account == "" {
		return nil, nil
	}
	asked := make([]accounts.Object, len(ld.Objects))
	for i, o := range ld.Objects {
		asked[i] = accounts.Object{GVR: o.GVR, Namespace: o.ID.Namespace, Name: o.ID.Name}
	}
	allowed, err := accounts.Rights(ctx, asked, rt.mayPatch(account))
	if err != nil {
		return nil, err
	}
	var admitted []*lock.Object
	kinds := make(map[schema.GroupVersionKind]watch.Kind, len(ld.Kinds))
	for i, o := range ld.Objects {
		if !allowed[i] {
			denied = append(denied, status.Denial{ID: o.ID, GVR: o.GVR})
			ld.Untracked[o.ID] = struct{}{} // declared all the same, so never a prune candidate
			continue
		}
		o.Account = account
		admitted, kinds[o.GVK] = append(admitted, o), ld.Kinds[o.GVK]
	}
	ld.Objects, ld.Kinds = admitted, kinds // a kind without owned objects is not watched
	return denied, nil
}

// granted reports whether an account has received one of the denied rights. If not, it asks again later, at growing
// intervals.
func (rt *rights) granted(ctx context.Context, key string) bool {
	var d status.Denials
	asked := 0
	rt.Ledger.Update(key, func(e *ledger.Entry) {
		d, asked = e.Denials, e.Asked
		if len(d.Objects) > 0 {
			e.Asked++
		}
	})
	if len(d.Objects) == 0 {
		return false
	}
	// Check another part of the objects each time, because they may be many.
	first := asked * accounts.QuestionsAtOnce
	mayPatch := rt.mayPatch(d.Account)
	answers, err := accounts.AskAll(min(len(d.Objects), accounts.QuestionsAtOnce), func(i int) (bool, error) {
		o := d.Objects[(first+i)%len(d.Objects)]
		return mayPatch(ctx, accounts.Object{GVR: o.GVR, Namespace: o.ID.Namespace, Name: o.ID.Name})
	})
	if err != nil {
		rt.Log.WithField("helmrelease", key).Debugf("what was denied is asked for again later: %s", apierror.Safe(err))
	}
	for _, yes := range answers {
		if yes {
			return true
		}
	}
	rt.askLater(key, asked)
	return false
}

func (rt *rights) askLater(key string, asked int) {
	rt.Queues.Releases.AddAfter(key, min(denialSoonest<<min(asked, 6), denialLatest))
}
