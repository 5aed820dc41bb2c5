package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// lastWord is how long a write that is under way when the operator has to stop may take to be made and proven: less
// than the time that a pod is given.
const lastWord = 5 * time.Second

// outlast returns a context that ends a while after ctx does, unless ctx has ended already: a write must not be left
// unproven because the operator stops, or what Helm means to be gone could stay, and what it counts on be gone. Nor
// must a replacement end half-way.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
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

// unanswered reports whether an error leaves open whether the API server did what it was asked.
func unanswered(err error) bool {
	status := apierrors.APIStatus(nil)
	return err != nil && (!errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		status.Status().Code >= 500)
}
