package writing

import (
	"context"
	"time"
)

// lastWord is the time for a write in flight to be made and confirmed after the operator has to stop. It is less than
// the grace period of a pod.
const lastWord = 5 * time.Second

// Outlast returns a context that ends a while after ctx does, unless ctx has ended already. A stop of the operator must
// not leave a write unconfirmed: an object could stay although Helm has deleted it, or be missing although Helm counts
// on it. Nor must a replacement end half-way.
func Outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithCancel(ctx)
	}
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(lastWord, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		forget()
		cancel()
	}
}
