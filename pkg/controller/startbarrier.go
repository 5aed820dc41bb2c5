package controller

import (
	"context"
	"sync"
	"time"
)

// startTimeout bounds how long the watches wait at the start: one tenant's records may take long to be read, and the
// locks of the others are not to wait for that.
const startTimeout = 15 * time.Second

// startBarrier holds the object watches back at the start until every HelmRelease that existed has been reconciled
// once, or startTimeout is over. Their locks are then known when the watches list what exists, so that nothing has
// to be read one by one.
type startBarrier struct {
	mu      sync.Mutex
	missing map[string]struct{}
	then    func() // nil before wait and once called
}

// wait has then called once all keys are done; at once for none.
func (g *startBarrier) wait(keys []string, then func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.then = make(map[string]struct{}, len(keys)), then
	for _, key := range keys {
		g.missing[key] = struct{}{}
	}
	g.check()
}

// done says that a key was reconciled, successfully or not.
func (g *startBarrier) done(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.missing, key)
	g.check()
}

func (g *startBarrier) check() {
	if g.then != nil && len(g.missing) == 0 {
		g.then()
		g.then = nil
	}
}

// end has no key waited for any longer.
func (g *startBarrier) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.missing)
	g.check()
}

// startAnyway ends the wait at the start when it takes too long.
func (rs *releases) startAnyway(ctx context.Context) {
	timer := rs.Clock.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case <-timer.C():
		rs.start.end()
	case <-ctx.Done():
	}
}
