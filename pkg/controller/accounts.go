package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/accounts"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
)

// denial is an object outside the rights of its release's account, and so not owned by the release.
type denial struct {
	id  manifest.ID
	gvr schema.GroupVersionResource
}

// denials are the denied objects of one HelmRelease. entries guards them.
type denials struct {
	account string
	objects []denial
	asked   int // number of repeated checks of the denials
}

const (
	// The delay between checks of denied objects, doubled every time.
	denialSoonest = time.Second
	denialLatest  = time.Minute
)

// rights knows the objects that the account of a release may change.
type rights struct{ *common }

// admit sorts the objects of a release by the right of its account to change them. A release does not own, compare or
// take over a denied object: a forged manifest is neither a claim nor a way to find out about objects beyond its
// author's rights. Without an account, the operator writes in its own name and may change everything.
func (rt *rights) admit(
	ctx context.Context, account string, objects []*lock.Object,
) (admitted []*lock.Object, denied []denial, err error) {
	if account == "" {
		return objects, nil, nil
	}
	asked := make([]accounts.Object, len(objects))
	for i, o := range objects {
		asked[i] = accounts.Object{GVR: o.GVR, Namespace: o.ID.Namespace, Name: o.ID.Name}
	}
	allowed, err := accounts.Rights(ctx, asked, rt.mayPatch(account))
	if err != nil {
		return nil, nil, err
	}
	for i, o := range objects {
		if allowed[i] {
			admitted = append(admitted, o)
			continue
		}
		denied = append(denied, denial{o.ID, o.GVR})
	}
	return admitted, denied, nil
}

func (rt *rights) mayPatch(account string) accounts.Ask {
	return func(ctx context.Context, o accounts.Object) (bool, error) {
		return rt.clients.Accounts.MayPatch(ctx,
			enforce.Object{GVR: o.GVR, Namespace: o.Namespace, Name: o.Name, Account: account})
	}
}

// hold sets the account under which the objects of a release are written. It removes the objects outside the rights of
// the account, and returns them.
func (rt *rights) hold(ctx context.Context, account string, ld *loaded) ([]denial, error) {
	admitted, denied, err := rt.admit(ctx, account, ld.objects)
	if err != nil {
		return nil, err
	}
	kinds := make(map[schema.GroupVersionKind]watch.Kind, len(ld.kinds))
	for _, o := range admitted {
		o.Account = account
		kinds[o.GVK] = ld.kinds[o.GVK]
	}
	ld.objects, ld.kinds = admitted, kinds // a kind without owned objects is not watched
	for _, d := range denied {
		ld.untracked[d.id] = struct{}{} // declared all the same, so never a prune candidate
	}
	return denied, nil
}

// granted reports whether an account has received one of the denied rights. If not, it asks again later, at growing
// intervals.
func (rt *rights) granted(ctx context.Context, key string) bool {
	var d denials
	rt.entries.update(key, func(e *entry) {
		d = e.denials
		if len(d.objects) > 0 {
			e.denials.asked++
		}
	})
	if len(d.objects) == 0 {
		return false
	}
	// Check another part of the objects each time, because they may be many.
	first := d.asked * accounts.QuestionsAtOnce
	mayPatch := rt.mayPatch(d.account)
	answers, err := accounts.AskAll(min(len(d.objects), accounts.QuestionsAtOnce), func(i int) (bool, error) {
		o := d.objects[(first+i)%len(d.objects)]
		return mayPatch(ctx, accounts.Object{GVR: o.gvr, Namespace: o.id.Namespace, Name: o.id.Name})
	})
	if err != nil {
		rt.Log.WithField("helmrelease", key).Debugf("what was denied is asked for again later: %s", safeError(err))
	}
	for _, yes := range answers {
		if yes {
			return true
		}
	}
	rt.askLater(key, d.asked)
	return false
}

func (rt *rights) askLater(key string, asked int) {
	wait := denialLatest
	if asked < 6 {
		wait = min(denialSoonest<<asked, denialLatest)
	}
	rt.queues.releases.AddAfter(key, wait)
}

// message describes the missing rights of the account, in the words of the API server's authorizer.
func (d denials) message() string {
	var texts []string
	for _, o := range d.objects[:min(named, len(d.objects))] {
		where := "at the cluster scope"
		if o.id.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", o.id.Namespace)
		}
		texts = append(texts, fmt.Sprintf("%s is not protected: User %q cannot patch resource %q in API group %q %s",
			o.id, d.account, o.gvr.Resource, o.gvr.Group, where))
	}
	return strings.Join(texts, "; ") + andMore(len(d.objects)-len(texts))
}
