package cli

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestMemoryIsGivenBackOnceWorkIsOverOrGoesOnSlowly(t *testing.T) {
	const mib = 1 << 20
	var r rest
	for i, step := range []struct {
		what            string
		allocated       uint64
		share           float64
		memory, program bool
	}{
		{"the start", 20 * mib, 0, false, false},
		{"still at work", 30 * mib, 0.9, false, false},
		{"at rest", 30*mib + 1000, 0.1, true, true},
		{"still at rest", 30*mib + 2000, 0.1, false, false},
		{"a little work", 32 * mib, 0.9, false, false},
		{"at rest after a little work: nothing worth a collection", 32*mib + 1000, 0.1, false, false},
		{"more work", 36 * mib, 0.9, false, false},
		{"at rest", 36*mib + 1000, 0.1, true, true},
		{"at rest", 36*mib + 2000, 0, false, false},
		{"at rest", 36*mib + 3000, 0, false, false},
		{"at rest", 36*mib + 4000, 0, false, false},
		{"long at rest: pages of the program came back", 36*mib + 5000, 0, false, true},
		{"still", 36*mib + 6000, 0, false, false},
		{"slow work", 60 * mib, slowShare / 2, false, false},
		{"slow work that goes on", 70 * mib, slowShare / 2, true, true},
		{"slow work that goes on", 80 * mib, slowShare / 2, false, false},
		{"fast work", 140 * mib, slowShare, false, false},
		{"how fast is not known", 150 * mib, 0, false, false},
	} {
		memory, program := r.after(step.allocated, step.share)
		if memory != step.memory || program != step.program {
			t.Errorf("step %d, %s: gives back memory %t, program %t", i, step.what, memory, program)
		}
	}
	for _, metric := range []string{"/gc/heap/allocs:bytes", "/gc/heap/live:bytes"} {
		runtime.GC()
		if read(metric) == 0 {
			t.Errorf("this Go does not tell %s", metric)
		}
	}
}

func TestOneProcessorIsUsedWhileItIsEnough(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	if before == 1 {
		t.Skip("there is but one processor")
	}
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	runtime.SetDefaultGOMAXPROCS()
	all := runtime.GOMAXPROCS(0)
	var p processors
	for i, step := range []struct {
		share float64
		whole bool
		want  int
	}{
		{1.5, true, all},
		{oneIsEnough, true, all},
		{oneIsEnough - 0.01, false, all},
		{0, true, all}, // not known
		{oneIsEnough - 0.01, true, 1},
		{oneIsShort - 0.01, true, 1},
		{oneIsShort, false, all},
	} {
		p.adjust(step.share, step.whole)
		if got := runtime.GOMAXPROCS(0); got != step.want {
			t.Errorf("step %d: %d processors, want %d", i, got, step.want)
		}
	}
	runtime.SetDefaultGOMAXPROCS()
	fixed := processors{fixed: true}
	fixed.adjust(0.1, true)
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("%d processors, although the environment says how many", got)
	}
}

func TestThereIsRoomForGarbageHoweverLittleIsLive(t *testing.T) {
	for live, want := range map[uint64]int{0: 1200, liveAtStart: 300, 8 << 20: 150, 12 << 20: 100, 24 << 20: 100, 1 << 30: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("%d %% with %d bytes live, want %d", got, live, want)
		}
	}
}

func TestEveryCollectionIsFollowed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var times atomic.Int64
	afterEachCollection(ctx, func() { times.Add(1) })
	// A collection may still see what the last call has left behind on a stack, and what follows one is done beside others.
	for times.Load() < 3 {
		runtime.GC()
		runtime.Gosched()
	}
	cancel()
	for last := int64(-1); last != times.Load(); runtime.Gosched() {
		last = times.Load()
		runtime.GC()
	}
	last := times.Load()
	runtime.GC()
	runtime.Gosched()
	if times.Load() != last {
		t.Error("followed although the context has ended")
	}
}

func TestUsageIsOfTheTimeSinceItWasAsked(t *testing.T) {
	begun := time.Unix(1000, 0)
	var u usage
	if got := u.share(begun, time.Second); got != 0 {
		t.Errorf("%v of a processor the first time, want that it is not known", got)
	}
	for _, step := range []struct {
		after, used time.Duration
		want        float64
	}{{time.Second, 1500 * time.Millisecond, 0.5}, {1100 * time.Millisecond, 1700 * time.Millisecond, 2}, {1100 * time.Millisecond, 1700 * time.Millisecond, 0}} {
		if got := u.share(begun.Add(step.after), step.used); got != step.want {
			t.Errorf("%v of a processor, want %v", got, step.want)
		}
	}
}
