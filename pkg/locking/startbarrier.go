package locking

import (
	"sync"
	"time"
)

// startTimeout bounds the wait of the watches at the start: one tenant's records may take long to read, and must not
// delay the locks of the others.
const startTimeout = 15 * time.Second

// startBarrier delays the object watches at the start until every existing HelmRelease has been reconciled once, or
// startTimeout is over. Their locks are then known before the first lists of the watches, so no object has to be read
// one by one.
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

// done records that a key was reconciled, successfully or not.
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
