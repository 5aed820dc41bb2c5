package cli

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// How much may be allocated between two collections: a share of what is live, in percent, as by Go's default, and no less than
// garbageRoom. Decoding is nearly all that the operator allocates. With little live, a share of it would be used up all the time,
// and collections would be most of the work; with much live, half of that share would make them a quarter of it.
const (
	gcPercent   = 100
	garbageRoom = 12 << 20
	liveAtStart = 4 << 20
)

// percentFor returns what Go's collector is to be set to (GOGC) with so many bytes live.
func percentFor(live uint64) int {
	return max(gcPercent, int(garbageRoom*100/max(live, 1<<20)))
}

// tuneRuntime sets the collector up unless the environment does, and until ctx ends has the process take no more than it needs: it
// gives memory back that a burst of work has left behind (Go returns it on its own, but slowly, and not before it collects, which
// at rest it hardly does), and works on one processor while one is enough.
func tuneRuntime(ctx context.Context, log logrus.FieldLogger) {
	p := processors{fixed: os.Getenv("GOMAXPROCS") != ""}
	collects := os.Getenv("GOGC") == ""
	if collects {
		debug.SetGCPercent(percentFor(liveAtStart))
	}
	var between usage
	afterEachCollection(ctx, func() {
		if collects {
			debug.SetGCPercent(percentFor(read("/gc/heap/live:bytes")))
		}
		// A burst of work is known by this long before its first second is over.
		p.adjust(between.share(time.Now(), processorTime()), false)
	})
	go func() {
		ticker := time.NewTicker(restInterval)
		defer ticker.Stop()
		var r rest
		var second usage
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				share := second.share(time.Now(), processorTime())
				p.adjust(share, true)
				memory, program := r.after(read("/gc/heap/allocs:bytes"), share)
				if memory {
					debug.FreeOSMemory()
				}
				if !program {
					continue
				}
				if err := releaseProgram(); err != nil {
					log.Debugf("pages of the program that were needed once stay in memory: %v", err)
				}
			}
		}
	}()
}

// afterEachCollection has f called whenever the collector has run, until ctx ends.
func afterEachCollection(ctx context.Context, f func()) {
	type none struct{ _ *byte } // what has no pointer may share its memory with others, and not be collected for long
	var next func(*none)
	next = func(n *none) {
		if ctx.Err() != nil {
			return
		}
		f()
		runtime.SetFinalizer(n, next)
	}
	runtime.SetFinalizer(&none{}, next)
}

// When work counts as over: less was allocated in an interval than a process does that renews its lease and follows what
// happens elsewhere. And what makes a collection worth its milliseconds: then, and during work that takes a small part of a
// processor but goes on for minutes, which the reading of long histories is.
const (
	restInterval = time.Second
	restBytes    = 1 << 20
	worthBytes   = 4 << 20
	slowShare    = 0.3
	slowBytes    = 32 << 20
	// programIntervals is after how many intervals of rest in a row the pages of the program are given back again: a lease and
	// the bookmarks of watches bring many of them back that nothing else needs.
	programIntervals = 5
)

// rest tells work from rest by what is allocated, and slow work from fast by the processor that it takes.
type rest struct {
	last, freed uint64 // bytes allocated in all, as of the last call and of the last time that memory was given back
	calm        int    // intervals of rest in a row
}

// after takes, once in an interval, the bytes that were allocated so far in the life of the process, and the share of a processor
// that was used in the interval, 0 if that is not known. It says what is to be given back.
func (r *rest) after(allocated uint64, share float64) (memory, program bool) {
	calm := allocated-r.last < restBytes
	garbage := allocated - r.freed
	r.last = allocated
	if calm {
		r.calm++
		memory = garbage >= worthBytes
		program = memory || r.calm%programIntervals == 0
	} else {
		r.calm = 0
		memory = share > 0 && share < slowShare && garbage >= slowBytes
		program = memory
	}
	if memory {
		r.freed = allocated
	}
	return memory, program
}

// read returns what a metric of Go's runtime says, 0 if this Go does not have it.
func read(metric string) uint64 {
	sample := []metrics.Sample{{Name: metric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// usage tells how much of a processor was used since it was last asked.
type usage struct {
	at   time.Time
	used time.Duration
}

// share takes the time and the processor time that the process has used in its life. It returns 0 if that is not known, as it is not
// the first time: a start is no rest.
func (u *usage) share(now time.Time, used time.Duration) float64 {
	before := *u
	u.at, u.used = now, used
	if before.at.IsZero() {
		return 0
	}
	return float64(used-before.used) / float64(max(now.Sub(before.at), time.Millisecond))
}

// processors bounds on how many processors Go code runs at once. With more than one, every event that comes in wakes a second
// thread, to look for work that is not there: half of what the operator spends on events is that. What is waited for in a revert is
// the API server.
type processors struct {
	fixed bool // by the environment

	mu  sync.Mutex
	one bool
}

// Shares of one processor from which on one is not enough, and below which it is.
const (
	oneIsShort  = 0.6
	oneIsEnough = 0.3
)

// adjust takes the share of a processor that the process has used lately; whole says that it was for a whole interval, which is
// what it takes to make do with one.
func (p *processors) adjust(share float64, whole bool) {
	if p.fixed {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case share >= oneIsShort && p.one:
		p.one = false
		runtime.SetDefaultGOMAXPROCS() // what the machine and the container's limit say
	case share < oneIsEnough && share > 0 && whole && !p.one:
		p.one = true
		runtime.GOMAXPROCS(1)
	}
}
