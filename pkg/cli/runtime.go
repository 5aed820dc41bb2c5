package cli

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/sirupsen/logrus"
)

// gcPercent makes the collector run earlier than Go's default of 100. Decoding is nearly all that the operator allocates,
// and what is live is small, so collecting more often costs little and halves what a burst leaves behind.
const gcPercent = 50

// tuneRuntime sets the collector up unless the environment does, and until ctx ends has the process take no more than it needs: it
// gives memory back that a burst of work has left behind (Go returns it on its own, but slowly, and not before it collects, which
// at rest it hardly does), and works on one processor while one is enough.
func tuneRuntime(ctx context.Context, log logrus.FieldLogger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	go func() {
		ticker := time.NewTicker(restInterval)
		defer ticker.Stop()
		var r rest
		p := processors{fixed: os.Getenv("GOMAXPROCS") != ""}
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.adjust(processorTime())
				if !r.begun(allocated()) {
					continue
				}
				debug.FreeOSMemory()
				if err := releaseProgram(); err != nil {
					log.Debugf("pages of the program that were needed once stay in memory: %v", err)
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

// processors bounds on how many processors Go code runs at once. With more than one, every event that comes in wakes a second
// thread, to look for work that is not there: half of what the operator spends on events is that. What is waited for in a revert is
// the API server.
type processors struct {
	fixed bool // by the environment
	last  time.Duration
	one   bool
}

// Shares of one processor, used in an interval, from which on one is not enough and below which it is.
const (
	oneIsShort  = restInterval * 6 / 10
	oneIsEnough = restInterval * 3 / 10
)

// adjust takes the processor time that the process has used in its life, once in an interval.
func (p *processors) adjust(used time.Duration) {
	if p.fixed || used == 0 {
		return
	}
	share := used - p.last
	p.last = used
	switch {
	case share >= oneIsShort && p.one:
		p.one = false
		runtime.SetDefaultGOMAXPROCS() // what the machine and the container's limit say
	case share < oneIsEnough && !p.one:
		p.one = true
		runtime.GOMAXPROCS(1)
	}
}
