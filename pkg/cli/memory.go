package cli

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent makes the collector run earlier than Go's default of 100. Decoding is nearly all that the operator allocates,
// and what is live is small, so collecting more often costs little and halves what a burst leaves behind.
const gcPercent = 50

// tuneMemory sets the collector up unless the environment does, and until ctx ends gives memory back that a burst of work has
// left behind: Go returns it on its own, but slowly, and not before it collects, which at rest it hardly does.
func tuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	go func() {
		ticker := time.NewTicker(restInterval)
		defer ticker.Stop()
		var r rest
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if r.begun(allocated()) {
					debug.FreeOSMemory()
				}
			}
		}
	}()
}

// When work counts as over: less was allocated in an interval than a process does that renews its lease and follows what
// happens elsewhere. And what makes a collection worth its milliseconds.
const (
	restInterval = time.Second
	restBytes    = 1 << 20
	worthBytes   = 4 << 20
)

// rest tells work from rest by what is allocated.
type rest struct {
	last, freed uint64 // bytes allocated in all, as of the last call and of the last time that rest had begun
}

// begun takes the bytes that were allocated so far in the life of the process, once in an interval, and says whether rest
// has begun, with something to give back.
func (r *rest) begun(allocated uint64) bool {
	calm := allocated-r.last < restBytes
	r.last = allocated
	if !calm || allocated-r.freed < worthBytes {
		return false
	}
	r.freed = allocated
	return true
}

// allocated returns how many bytes were allocated in the life of the process.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0 // a Go that does not tell: memory is then given back as it always is
	}
	return sample[0].Value.Uint64()
}
