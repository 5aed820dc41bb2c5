// Package page serves a small web page about the locked releases: their locks, their drift, and their current
// differences. Run is the embedding API: a process of its own. It shows the HelmReleases from a cache, and the
// operators' streams of events live. Without an operator it shows the last written status.
//
// The page is read-only. With Options.Viewers, the API server authenticates viewers and authorizes each request.
// Without, there are no comparisons, because those show the content of objects. The page reads records and objects with
// the viewer's own bearer token. It shows no value of a Secret, and makes every text from the cluster neutral (see
// plain.Line). Its cost is bounded: viewers, connections, concurrent comparisons, and the size of a comparison.
package page

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// Releases reads the HelmReleases of the page. Wrangler's cache implements it.
type Releases interface {
	Get(namespace, name string) (*v1alpha1.HelmRelease, error)
	List(namespace string, selector labels.Selector) ([]*v1alpha1.HelmRelease, error)
}

// Options configure a Page. All but Hosts and Viewers are required.
type Options struct {
	// Address is the listen address, for example "127.0.0.1:8082".
	Address string
	// Hosts are further host names for requests, beside addresses, localhost and names inside of the cluster.
	Hosts []string
	// Namespace is the namespace of the HelmReleases.
	Namespace string
	// ControllerName is the name of the operator.
	ControllerName string
	// Releases is read after each call of Changed.
	Releases Releases
	// Cluster returns a connection with the rights of the user of a bearer token, for comparisons.
	Cluster func(token string) (*inspect.Cluster, error)
	// Accounts names the account that writes the objects of a release.
	Accounts accounts.Policy
	// Viewers authenticates and authorizes the readers of the page. Nil lets every client read the status of the
	// HelmReleases, and none compare.
	Viewers *viewer.Reviewer
	// Lease reads a Lease in Namespace. The Leases of the operators there show which of them have stopped.
	Lease func(ctx context.Context, name string) (coordinationv1.LeaseSpec, error)
	// Ready is closed once Releases are complete.
	Ready <-chan struct{}
	Clock clock.WithTicker
	Log   logrus.FieldLogger
}

// Bounds.
const (
	// maxStreams bounds the streams of changes. When they run out, viewers have equal shares.
	maxStreams = 16
	// comparedTogether and comparisonsPerSecond bound comparisons: each one reads every object of a release from the
	// API server. Viewers take turns, and each has at most one comparison, running or in the line.
	comparedTogether     = 1
	comparedForOne       = 1
	comparisonsPerSecond = 1
	comparisonBurst      = 6
	// answerTimeout bounds the time in which a client has to read an answer.
	answerTimeout = 10 * time.Second
)

// Page is the page of one namespace.
type Page struct {
	Options
	compare func(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (*comparison, error)
	turns   turns
	timeout time.Duration

	// checking is held while Leases are read, and guards when they were.
	checking sync.Mutex
	checked  time.Time

	mu      sync.Mutex
	stopped []stoppedView
	viewers map[*listener]struct{}
	day     day
	board   *board // nil without viewers
}

// rights returns the rights of viewers on the page.
func (p *Page) rights() rights { return rights{p.Viewers, p.Namespace} }

// Changed reports a created, changed or deleted HelmRelease. Key is its namespace and name with a slash between them.
// Without viewers Changed does nothing.
func (p *Page) Changed(key string) {
	p.eachViewer(func(v *listener) { v.changed[key] = true })
}

func (p *Page) operatorChanged() {
	p.eachViewer(func(v *listener) { v.operator = true })
}

func (p *Page) eachViewer(update func(*listener)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for v := range p.viewers {
		update(v)
		select {
		case v.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// join adds a stream of a viewer, with everything pending. It returns nil when there are too many.
func (p *Page) join(by string) *listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.viewers) >= maxStreams {
		leaves := p.crowding(by)
		if leaves == nil {
			return nil
		}
		delete(p.viewers, leaves)
		close(leaves.ended)
	}
	v := &listener{by: by, ended: make(chan struct{}), all: true, operator: true, changed: map[string]bool{},
		wake: make(chan struct{}, 1)}
	v.wake <- struct{}{}
	p.viewers[v] = struct{}{}
	if p.board == nil {
		p.board = newBoard()
	}
	return v
}

// crowding returns a stream to close in favour of one more stream of a viewer, or nil. The stream belongs to the viewer
// with the most streams. That viewer must still have at least as many as the other one afterwards. p.mu is held.
func (p *Page) crowding(by string) (leaves *listener) {
	streams := map[string]int{}
	for v := range p.viewers {
		streams[v.by]++
	}
	for v := range p.viewers {
		if streams[v.by] > streams[by]+1 && (leaves == nil || streams[v.by] > streams[leaves.by]) {
			leaves = v
		}
	}
	return leaves
}

func (p *Page) leave(v *listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.viewers, v); len(p.viewers) == 0 {
		p.board = nil
	}
}

// full reports whether there is no room for one more stream of a viewer.
func (p *Page) full(by string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.viewers) >= maxStreams && p.crowding(by) == nil
}

func (p *Page) take(v *listener) due {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := due{v.all, v.drifted, v.operator, v.changed}
	v.all, v.drifted, v.operator, v.changed = false, false, false, map[string]bool{}
	return d
}

// rowEvent returns the event about a HelmRelease, and adds its new drift records to the time line. The board must
// exist.
func (p *Page) rowEvent(hr *v1alpha1.HelmRelease) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := keyOf(hr)
	before := p.board.rows[key]
	if before.hr == hr {
		return before.event, nil
	}
	view := rowOf(hr, p.Clock.Now())
	view.Message = report.Cut(view.Message, mostMessage)
	event, err := encode("release", view)
	if err != nil {
		return "", err
	}
	p.board.rows[key] = row{hr, event}
	p.board.add(key, hr.Spec.Release, hr.Status.RecentDrift...)
	p.day.remember(p.Clock.Now(), hr)
	return event, nil
}

func (p *Page) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.board.rows, key)
}

// newDrift returns the entries of the time line with numbers above sent, and the highest number.
func (p *Page) newDrift(sent int) ([]driftView, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.trim()
	var entries []driftView
	for _, l := range p.board.log {
		if l.number > sent {
			entries = append(entries, l.entry)
		}
	}
	return entries, p.board.last
}

// Connected reports that the stream of an operator is read, by the name of its Lease. The chart is complete from the
// first connection on.
func (p *Page) Connected(lease string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.day.leases[lease] {
		p.day.leases[lease] = true
		p.day.complete = p.Clock.Now()
	}
}

// chartNow returns the chart of the releases on the page. A release without a HelmRelease is not named: the viewers may
// read those only.
func (p *Page) chartNow() *history.Chart {
	all, err := p.Releases.List(p.Namespace, labels.Everything())
	if err != nil {
		p.Log.Errorf("page: list HelmReleases: %v", err)
	}
	onPage := make(map[string]bool, len(all))
	for _, hr := range all {
		onPage[history.Name(hr.Spec.Release.String())] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	chart := p.day.Chart(now, func(release string) bool { return onPage[release] })
	if chart != nil {
		chart.Notes = append(chart.Notes, p.day.covers(now))
	}
	return chart
}

// turns are those of the viewers at costly work.
type turns struct {
	comparing *fair.Semaphore
	budget    *rate.Limiter
}

// inTurn does some work for a viewer when it is the viewer's turn. The error is viewer.ErrTooMany when it does not
// come.
func (t *turns) inTurn(
	ctx context.Context, by viewer.User, do func(context.Context) (any, error),
) (found any, err error) {
	waiting, stop := context.WithTimeout(ctx, comparisonWait)
	defer stop()
	begun := false
	err = t.comparing.Do(waiting, by.Name(), func() error {
		if err := t.budget.Wait(waiting); err != nil {
			return err
		}
		begun = true
		working, cancel := context.WithTimeout(ctx, comparisonTimeout)
		defer cancel()
		var err error
		found, err = do(working)
		return err
	})
	if err != nil && !begun {
		return nil, viewer.ErrTooMany
	}
	return found, err
}
