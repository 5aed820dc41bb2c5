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
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/serving"
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
	compare   func(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (*comparison, error)
	comparing *fair.Semaphore
	budget    *rate.Limiter
	timeout   time.Duration

	// checking is held while Leases are read, and guards when they were.
	checking sync.Mutex
	checked  time.Time

	mu      sync.Mutex
	stopped []stoppedView
	viewers map[*listener]struct{}
	day     day
	board   *board // nil without viewers
}

// New returns a page; nothing is served before Run.
func New(o Options) *Page {
	p := &Page{
		Options:   o,
		comparing: fair.NewSemaphore(fair.Limits{All: comparedTogether, Each: comparedForOne, Most: comparedForOne}),
		budget:    rate.NewLimiter(comparisonsPerSecond, comparisonBurst),
		timeout:   answerTimeout, viewers: map[*listener]struct{}{}, day: newDay(),
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
		p.Log.Warnf("the page has no login: every client with access to %s reads it; --page-auth requires a token",
			listener.Addr())
	}
	return p.serve(ctx, listener)
}

func (p *Page) serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limits := serving.Standard()
	limits.Write = p.timeout
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-p.Ready:
			p.operatorChanged()
		case <-ctx.Done():
		}
	})
	err := serving.Run(ctx, listener, p.handler(), limits, p.Log)
	cancel() // the listener may have failed
	waiting.Wait()
	return err
}

// Changed reports a created, changed or deleted HelmRelease. Key is its namespace and name with a slash between them.
// Without viewers Changed does nothing.
func (p *Page) Changed(key string) {
	p.eachViewer(func(v *listener) { v.changed[key] = true })
}

// Happened counts a drift that an operator reported, and adds it to the time line before it appears in the status.
// Messages about lost ones are counted, too; others do nothing. Without viewers there is no time line, because a viewer
// begins with the drift records of the status.
func (p *Page) Happened(m *message.Message) {
	if m != nil && m.Lost != nil {
		p.missed()
	}
	if m == nil || m.Drift == nil || m.Release == nil || m.HelmRelease == nil ||
		m.HelmRelease.Namespace != p.Namespace {
		return
	}
	of := v1alpha1.ReleaseReference{Namespace: m.Release.Namespace, Name: m.Release.Name}
	p.mu.Lock()
	p.day.add(p.Clock.Now(), of, m.Drift)
	if p.board != nil {
		p.board.add(m.HelmRelease.Namespace+"/"+m.HelmRelease.Name, of, *m.Drift)
	}
	p.mu.Unlock()
	p.eachViewer(func(v *listener) { v.drifted = true })
}

func (p *Page) operatorChanged() {
	p.eachViewer(func(v *listener) { v.operator = true })
}
