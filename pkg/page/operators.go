package page

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/version"
)

const (
	// mostOperators bounds the Leases read in one check.
	mostOperators = 20
	checkTimeout  = 5 * time.Second
)

// checkOperators finds the stopped operators among those that manage HelmReleases, for all viewers. A missed renewal of
// a Lease sends no watch event, so the beats of viewers trigger the check. An operator without a readable Lease counts
// as running: it may do without leader election.
func (p *Page) checkOperators(ctx context.Context) {
	if !p.checking.TryLock() {
		return // another viewer is at it
	}
	defer p.checking.Unlock()
	now := p.Clock.Now()
	if now.Sub(p.checked) < beatEvery/2 {
		return
	}
	p.checked = now
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var stopped []stoppedView
	for name, hr := range p.operators() {
		spec, err := p.Lease(ctx, name)
		if err != nil {
			p.Log.Debugf("page: Lease %s/%s: %v", p.Namespace, name, err)
			continue
		}
		if seen, gone := inspect.LastSeen(spec, now); gone {
			stopped = append(stopped, stoppedView{plain.Line(name), plain.Line(inspect.NotRunning(hr, seen))})
		}
	}
	if ctx.Err() != nil {
		return // what was found is not all
	}
	slices.SortFunc(stopped, func(a, b stoppedView) int { return cmp.Compare(a.Lease, b.Lease) })
	p.mu.Lock()
	same := slices.Equal(stopped, p.stopped)
	p.stopped = stopped
	p.mu.Unlock()
	if !same {
		p.operatorChanged()
	}
}

// operators returns the Leases of the operators that manage HelmReleases. Each comes with one of its HelmReleases.
func (o *Options) operators() map[string]*v1alpha1.HelmRelease {
	all, err := o.Releases.List(o.Namespace, labels.Everything())
	if err != nil {
		o.Log.Errorf("page: list HelmReleases: %v", err)
	}
	found := map[string]*v1alpha1.HelmRelease{}
	for _, hr := range all {
		if name, ok := inspect.LeaseOf(hr); ok && len(found) < mostOperators {
			found[name] = hr
		}
	}
	return found
}

func (p *Page) operatorNow() operatorView {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := operatorView{
		Namespace: plain.Line(p.Namespace), Controller: plain.Line(p.ControllerName),
		Version:  plain.Line(version.String()),
		Compares: p.Viewers != nil, Stopped: p.stopped, Now: p.Clock.Now().UTC(),
	}
	select {
	case <-p.Ready:
		view.Ready = true
	default:
	}
	return view
}
