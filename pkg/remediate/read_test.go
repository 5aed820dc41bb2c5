package remediate

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// A get may see a change before the watch delivers it. The change did not begin with the refused one that was to be
// tried again.
func TestTheTimeOfAChangeSeenByAGet(t *testing.T) {
	first, now := time.Unix(1, 0), time.Unix(2, 0)
	rd := &reader{&Options{Clock: clocktesting.NewFakePassiveClock(now), Hasher: drift.NewHasher()}}
	live := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "evil"}}}
	same := &lock.Refusal{Content: rd.Hasher.Digest(live.Object)}
	for name, tc := range map[string]struct {
		refusal *lock.Refusal
		want    time.Time
	}{"drift": {nil, first}, "a refused change": {same, first}, "a change beside it": {&lock.Refusal{}, now}} {
		w := &lock.Work{Refusal: tc.refusal, Observation: lock.Observation{NeedsGet: true, Seen: first}}
		rd.seen(w, live)
		check.That(t, w.Seen.Equal(tc.want), "%s was seen at %s, want %s", name, w.Seen, tc.want)
	}
}
