package page

import (
	"context"
	"fmt"
	"net"
	"sync"

	"golang.org/x/time/rate"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/serving"
)

// New returns a page; nothing is served before Run.
func New(o Options) *Page {
	p := &Page{
		Options: o,
		turns: turns{
			fair.NewSemaphore(fair.Limits{All: comparedTogether, Each: comparedForOne, Most: comparedForOne}),
			rate.NewLimiter(comparisonsPerSecond, comparisonBurst),
		},
		timeout: answerTimeout, viewers: map[*listener]struct{}{}, day: newDay(),
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

// Happened counts a drift that an operator reported, and adds it to the time line before it appears in the status.
// Messages about lost ones are counted, too; others do nothing. Without viewers there is no time line, because a viewer
// begins with the drift records of the status.
func (p *Page) Happened(m *message.Message) {
	if m != nil && m.Lost != nil {
		p.mu.Lock()
		p.day.complete = p.Clock.Now()
		p.mu.Unlock()
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
