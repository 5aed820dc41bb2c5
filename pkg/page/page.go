// Package page serves a small web page about the locked releases: what is locked, what drifted, what differs now. Run
// is the embedding API: a process of its own. It shows the HelmReleases from a cache, and what operators do from
// their streams of events, live. Without an operator it shows what the last one has written.
//
// It is read-only. With Options.Viewers the API server says who a viewer is and what they may see; without, there
// are no comparisons, which show the content of objects. Records and objects are read with the viewer's own bearer
// token. Nothing on the page is a value of a Secret, and every text from the cluster is neutral (see plain.Line) before
// it leaves. What it costs is bounded: viewers, connections, comparisons at a time, the size of a comparison.
package page

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// Releases are the HelmReleases that the page shows. Wrangler's cache of them is one.
type Releases interface {
	Get(namespace, name string) (*v1alpha1.HelmRelease, error)
	List(namespace string, selector labels.Selector) ([]*v1alpha1.HelmRelease, error)
}

// Options configure a Page. All but Hosts and Viewers are required.
type Options struct {
	// Address is where to listen, for example "127.0.0.1:8082".
	Address string
	// Hosts are names by which the page may be asked for, beside addresses, localhost and names inside of the cluster.
	Hosts []string
	// Namespace is where the HelmReleases are that are shown.
	Namespace string
	// ControllerName is what the operator is called.
	ControllerName string
	// Releases is read when something has Changed.
	Releases Releases
	// Cluster returns the cluster as the user of a bearer token may read it: releases are compared with it.
	Cluster func(token string) (*inspect.Cluster, error)
	// Accounts says in whose name the objects of a release are written.
	Accounts accounts.Policy
	// Viewers says who reads the page, and what they may see. Nil lets every viewer see what the status of
	// the HelmReleases says, and no viewer compare.
	Viewers *viewer.Reviewer
	// Lease reads a Lease in Namespace: those of the operators that manage HelmReleases there say which of them do not
	// run.
	Lease func(ctx context.Context, name string) (coordinationv1.LeaseSpec, error)
	// Ready is closed once Releases are complete.
	Ready <-chan struct{}
	Clock clock.WithTicker
	Log   logrus.FieldLogger
}

// Bounds.
const (
	// maxStreams bounds the streams of changes. With more, viewers have equal shares.
	maxStreams = 16
	// comparedTogether and comparisonsPerSecond bound comparisons, which ask the API server for every object of a
	// release. Viewers take turns, and each has one comparison at work or in the line.
	comparedTogether     = 1
	comparedForOne       = 1
	comparisonsPerSecond = 1
	comparisonBurst      = 6
	// answerTimeout is how long a client may take to read what it is sent.
	answerTimeout = 10 * time.Second
)

// Page is the page of one namespace.
type Page struct {
	Options
	compare   func(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (*comparison, error)
	comparing *serving.Shares
	budget    *rate.Limiter
	timeout   time.Duration

	// checking is held while Leases are read, and guards when they were.
	checking sync.Mutex
	checked  time.Time

	mu      sync.Mutex
	stopped []stoppedView
	viewers map[*listener]struct{}
	board   *board // nil without viewers
}

// New returns a page; nothing is served before Run.
func New(o Options) *Page {
	p := &Page{
		Options: o, comparing: serving.NewShares(comparedTogether, comparedForOne, comparedForOne),
		budget:  rate.NewLimiter(comparisonsPerSecond, comparisonBurst),
		timeout: answerTimeout, viewers: map[*listener]struct{}{},
	}
	p.compare = p.compareWithCluster
	return p
}

// Run serves the page until ctx ends. The error is about the address.
func (p *Page) Run(ctx context.Context) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", p.Address)
	if err != nil {
		return fmt.Errorf("page address: %w", err)
	}
	p.Log.Infof("page on http://%s/", listener.Addr())
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && p.Viewers == nil && !tcp.IP.IsLoopback() {
		p.Log.Warnf("the page has no login: everybody who reaches %s reads it; --page-auth asks for a token",
			listener.Addr())
	}
	return p.serve(ctx, listener)
}

func (p *Page) serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limits := serving.Standard()
	limits.Write = p.timeout
	var telling sync.WaitGroup
	telling.Go(func() {
		select {
		case <-p.Ready:
			p.tellOperator()
		case <-ctx.Done():
		}
	})
	err := serving.Run(ctx, listener, p.handler(), limits, p.Log)
	cancel() // the listener may have failed
	telling.Wait()
	return err
}

// Changed tells that a HelmRelease was created, changed or deleted. Key is its namespace and name with a slash
// between them. Without viewers this does nothing.
func (p *Page) Changed(key string) {
	p.eachViewer(func(v *listener) { v.changed[key] = true })
}

// Happened puts a drift into the time line when an operator reports it, which is before the status has it. Other
// messages, and all of them without viewers, do nothing: viewers begin with what the status says.
func (p *Page) Happened(m *message.Message) {
	if m == nil || m.Drift == nil || m.Release == nil || m.HelmRelease == nil ||
		m.HelmRelease.Namespace != p.Namespace {
		return
	}
	p.mu.Lock()
	if p.board != nil {
		p.board.add(m.HelmRelease.Namespace+"/"+m.HelmRelease.Name,
			v1alpha1.ReleaseReference{Namespace: m.Release.Namespace, Name: m.Release.Name}, *m.Drift)
	}
	p.mu.Unlock()
	p.eachViewer(func(v *listener) { v.drifted = true })
}

func (p *Page) tellOperator() {
	p.eachViewer(func(v *listener) { v.operator = true })
}
