package enforce

import (
	"context"
	"sync"
)

// background is work that serves several callers, and so must not end when one of them gives up. It ends with Close.
type background struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
}

func newBackground() *background {
	b := &background{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Go runs f beside the caller. It must not be called after Close but from f.
func (b *background) Go(f func(context.Context)) { b.group.Go(func() { f(b.ctx) }) }

// Close ends what still runs and waits for it.
func (b *background) Close() {
	b.cancel()
	b.group.Wait()
}
