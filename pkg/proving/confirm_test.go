package proving

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/writing"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// Hours later an object may differ for other reasons, so nothing is asked, and nothing written.
func TestI1_AWriteThatNothingProvesIsForgotten(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	pr := &Prover{Clock: clock, Log: fixture.Quiet(), Writer: &writing.Writer{Unproven: &lock.Writes{}}}
	key := release.Key{Namespace: "apps", Name: "app"}
	w := &lock.Write{Object: &lock.Object{ID: manifest.ID{Kind: "ConfigMap", Name: "app"}},
		Record: release.Record{Key: key}, Begun: clock.Now()}
	pr.Writer.Unproven.Begin(w)
	pr.Writer.Unproven.Answered(w, nil, true)
	clock.Step(writePatience + time.Second)
	check.Report(t, pr.prove(t.Context(), key))
	left := pr.Writer.Unproven.Of(key)
	check.That(t, len(left) == 0, "it is remembered: %v", left)
}
