package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// account returns the user in whose name the objects of a release are written, empty for the operator itself; or why
// there is none. It is always a ServiceAccount of the release's own namespace: who may write the records of a release may
// not borrow the rights of another namespace by it.
func (c *Controller) account(rel release.Key, spec v1alpha1.HelmReleaseSpec) (string, problem) {
	name := spec.ServiceAccountName
	if name == "" && c.Impersonate {
		name = c.DefaultServiceAccount
	}
	switch {
	case name != "":
	case c.Impersonate:
		return "", problem{v1alpha1.ReasonNoServiceAccount, "the operator writes only in the name of a ServiceAccount (--impersonate), and none is named: " +
			"set spec.serviceAccountName to one in namespace " + rel.Namespace + "; nothing is locked"}
	default:
		return "", problem{}
	}
	// The definition of HelmReleases checks the same. It may be an older one, and a name with a colon would be another user.
	for _, part := range []string{name, rel.Namespace} {
		if bad := validation.NameIsDNSSubdomain(part, false); len(bad) > 0 {
			return "", problem{v1alpha1.ReasonNoServiceAccount, fmt.Sprintf("ServiceAccount %q in namespace %q: %s", name, rel.Namespace, strings.Join(bad, "; "))}
		}
	}
	return "system:serviceaccount:" + rel.Namespace + ":" + name, problem{}
}

// denial is an object that the account of its release may not change, so that the release does not own it.
type denial struct {
	id  manifest.ID
	gvr schema.GroupVersionResource
}

// denials are those of one HelmRelease. Controller.mu guards them.
type denials struct {
	account string
	objects []denial
	asked   int // times that it was asked again whether they still hold
}

const (
	// questionsAtOnce bounds the requests of one release to the API server's authorizer.
	questionsAtOnce = 8
	// denialsNamed is how many objects of a release are asked for by name, where their account may not change all objects of
	// the kind. Whoever forges a manifest of a million objects is not worth a million requests.
	denialsNamed = 256

	// Time until denied objects are asked for again: doubled every time.
	denialSoonest = time.Second
	denialLatest  = time.Minute
)

// admit sorts the objects of a release into those that its account may change and the others. What an account may not
// change its release does not own, does not compare and does not take from another release: a forged manifest is neither
// a claim nor a way to find out about objects that its author may not see. Everything is the operator's own to change
// where it writes in its own name.
func (c *Controller) admit(ctx context.Context, account string, objects []*lock.Object) (admitted []*lock.Object, denied []denial, err error) {
	if account == "" {
		return objects, nil, nil
	}
	type place struct {
		gvr       schema.GroupVersionResource
		namespace string
	}
	index := map[place]int{}
	var places []place
	for _, o := range objects {
		at := place{o.GVR, o.ID.Namespace}
		if _, known := index[at]; !known {
			index[at] = len(places)
			places = append(places, at)
		}
	}
	general, err := askAll(len(places), func(i int) (bool, error) {
		return c.clients.Accounts.MayPatch(ctx, account, places[i].gvr, places[i].namespace, "")
	})
	if err != nil {
		return nil, nil, err
	}
	var doubtful []*lock.Object
	for _, o := range objects {
		switch {
		case general[index[place{o.GVR, o.ID.Namespace}]]:
			admitted = append(admitted, o)
		default:
			doubtful = append(doubtful, o)
		}
	}
	named, err := askAll(min(len(doubtful), denialsNamed), func(i int) (bool, error) {
		o := doubtful[i]
		return c.clients.Accounts.MayPatch(ctx, account, o.GVR, o.ID.Namespace, o.ID.Name)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, o := range doubtful {
		if i < len(named) && named[i] {
			admitted = append(admitted, o)
			continue
		}
		denied = append(denied, denial{o.ID, o.GVR})
	}
	return admitted, denied, nil
}

// hold has the objects of a release written in the name of an account, and takes those out that it may not change.
func (c *Controller) hold(ctx context.Context, account string, ld *loaded) ([]denial, error) {
	admitted, denied, err := c.admit(ctx, account, ld.objects)
	if err != nil {
		return nil, err
	}
	kinds := make(map[schema.GroupVersionKind]watch.Kind, len(ld.kinds))
	for _, o := range admitted {
		o.Account = account
		kinds[o.GVK] = ld.kinds[o.GVK]
	}
	ld.objects, ld.kinds = admitted, kinds // what is not owned is not watched
	for _, d := range denied {
		ld.untracked[d.id] = struct{}{} // declared all the same, so never a leftover
	}
	return denied, nil
}

// askAll asks n questions, some at once, and returns the answers, or the first error.
func askAll(n int, ask func(int) (bool, error)) ([]bool, error) {
	answers, errs := make([]bool, n), make([]error, n)
	next := make(chan int)
	var asking sync.WaitGroup
	for range min(n, questionsAtOnce) {
		asking.Go(func() {
			for i := range next {
				answers[i], errs[i] = ask(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// granted says whether an account may change by now what it was denied. If not, that is asked again later, less and less
// often.
func (c *Controller) granted(ctx context.Context, key string) bool {
	var d denials
	c.update(key, func(e *entry) {
		d = e.denials
		if len(d.objects) > 0 {
			e.denials.asked++
		}
	})
	if len(d.objects) == 0 {
		return false
	}
	// Another part of them every time, should they be many.
	first := d.asked * questionsAtOnce
	answers, err := askAll(min(len(d.objects), questionsAtOnce), func(i int) (bool, error) {
		o := d.objects[(first+i)%len(d.objects)]
		return c.clients.Accounts.MayPatch(ctx, d.account, o.gvr, o.id.Namespace, o.id.Name)
	})
	if err != nil {
		c.Log.WithField("helmrelease", key).Debugf("what was denied is asked for again later: %s", safeError(err))
	}
	for _, yes := range answers {
		if yes {
			return true
		}
	}
	c.askLater(key, d.asked)
	return false
}

func (c *Controller) askLater(key string, asked int) {
	wait := denialLatest
	if asked < 6 {
		wait = min(denialSoonest<<asked, denialLatest)
	}
	c.releaseQueue.AddAfter(key, wait)
}

// message says what the account may not do, in the words of the API server's authorizer.
func (d denials) message() string {
	var texts []string
	for _, o := range d.objects[:min(named, len(d.objects))] {
		where := "at the cluster scope"
		if o.id.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", o.id.Namespace)
		}
		texts = append(texts, fmt.Sprintf("%s is not protected: User %q cannot patch resource %q in API group %q %s", o.id, d.account, o.gvr.Resource, o.gvr.Group, where))
	}
	return strings.Join(texts, "; ") + andMore(len(d.objects)-len(texts))
}
