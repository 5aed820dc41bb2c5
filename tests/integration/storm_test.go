package integration

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A hundred thousand events of a locked kind arrive at once, for locked and other objects, while objects are tampered
// with. No drift is lost, and none of the events stays in memory.
func TestI5_StormOfEventsLosesNoDrift(t *testing.T) {
	const events, objects = 100000, 20
	w := newFixture(t)
	manifest := ""
	for i := range objects {
		manifest += kit.ConfigMap(fmt.Sprintf("settings-%d", i), "declared")
	}
	w.Forged("app", manifest)
	w.PassFence()
	before := heap()

	locked := w.Get(kit.ConfigMaps, "settings-0")
	line := func(name string) []byte {
		u := locked.DeepCopy()
		u.SetName(name)
		u.SetKind("ConfigMap")
		u.SetAPIVersion("v1")
		text, err := json.Marshal(map[string]any{"type": "MODIFIED", "object": u.Object})
		check.NoError(t, err)
		return append(text, '\n')
	}
	var burst []byte
	for i := range 1000 {
		name := "settings-0"
		if i%2 == 1 {
			name = fmt.Sprintf("stranger-%d", i)
		}
		burst = append(burst, line(name)...)
	}
	begun := time.Now()
	for i := range events / 1000 {
		w.Until("the watch is between two events", func() (any, bool) {
			if w.Proxy.Inject(cluster.WatchOf("configmaps"), burst) != 0 {
				return nil, true
			}
			// The burst has older versions than the tampered objects, and restarts the watch: it needs an event.
			w.Patch(kit.ConfigMaps, "settings-0", fmt.Sprintf(`{"metadata":{"annotations":{"burst":"%d"}}}`, i))
			w.Patch(kit.ConfigMaps, "settings-0", `{"metadata":{"annotations":{"burst":null}}}`)
			return "it is not", false
		})
		if i%5 == 0 {
			w.Patch(kit.ConfigMaps, fmt.Sprintf("settings-%d", i/5%objects), fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, i))
		}
	}
	w.Until("the operator has read them all", func() (any, bool) {
		n := w.Proxy.Unread(cluster.WatchOf("configmaps"))
		return n, n == 0
	})
	took := time.Since(begun)
	for i := range objects {
		w.WaitField(kit.ConfigMaps, fmt.Sprintf("settings-%d", i), "data.key", "declared")
	}
	w.PassFence()
	w.WaitReady("app", 1)
	t.Logf("%d events in %s, %.0f a second; the heap was %d MiB and is %d MiB", events, took.Round(time.Millisecond),
		events/took.Seconds(), before>>20, heap()>>20)
	grown := int64(heap()) - int64(before)
	check.That(t, grown <= 64<<20, "the heap has grown by %d MiB", grown>>20)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
