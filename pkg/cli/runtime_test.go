package cli

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestMemoryIsGivenBackOnceWorkIsOver(t *testing.T) {
	const mib = 1 << 20
	var r rest
	for i, step := range []struct {
		what      string
		allocated uint64
		want      bool
	}{
		{"the start", 20 * mib, false},
		{"still at work", 30 * mib, false},
		{"at rest", 30*mib + 1000, true},
		{"still at rest", 30*mib + 2000, false},
		{"a little work", 32 * mib, false},
		{"at rest after a little work: nothing worth a collection", 32*mib + 1000, false},
		{"more work", 36 * mib, false},
		{"at rest", 36*mib + 1000, true},
	} {
		if got := r.begun(step.allocated); got != step.want {
			t.Errorf("step %d, %s: got %t", i, step.what, got)
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
	used := time.Duration(0)
	for i, step := range []struct {
		share time.Duration
		want  int
	}{
		{restInterval, all},
		{oneIsEnough, all},
		{oneIsEnough - 1, 1},
		{oneIsShort - 1, 1},
		{oneIsShort, all},
		{0, 1},
	} {
		used += step.share
		p.adjust(used)
		if got := runtime.GOMAXPROCS(0); got != step.want {
			t.Errorf("step %d: %d processors, want %d", i, got, step.want)
		}
	}
	runtime.SetDefaultGOMAXPROCS()
	fixed := processors{fixed: true}
	fixed.adjust(1)
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("%d processors, although the environment says how many", got)
	}
}

func TestThereIsRoomForGarbageHoweverLittleIsLive(t *testing.T) {
	for live, want := range map[uint64]int{0: 2400, liveAtStart: 600, 8 << 20: 300, 24 << 20: 100, 48 << 20: 50, 1 << 30: 50} {
		if got := percentFor(live); got != want {
			t.Errorf("%d %% with %d bytes live, want %d", got, live, want)
		}
	}
}

func TestEveryCollectionIsFollowed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	afterEachCollection(ctx, func() { ran <- struct{}{} })
	for range 3 {
		runtime.GC()
		<-ran
	}
	cancel()
	runtime.GC()
	runtime.GC()
	select {
	case <-ran:
		t.Error("followed although the context has ended")
	default:
	}
}
