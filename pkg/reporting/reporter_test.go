package reporting

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// I12: drift without end in one namespace uses up the events of that namespace only.
func TestEventsOfNamespacesAreApart(t *testing.T) {
	rep := New(Options{Clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
	in := func(namespace string) *lock.Lock {
		return &lock.Lock{Release: release.Key{Namespace: namespace, Name: "shop"}}
	}
	recorded := 0
	for range 10 * eventBurst {
		if rep.mayRecord(in("hostile")) {
			recorded++
		}
	}
	check.That(t, recorded == eventBurst && rep.mayRecord(in("apps")),
		"%d events of one namespace, and then none of another", recorded)
}

// sentMessages keeps messages.
type sentMessages []*message.Message

func (s *sentMessages) Send(m *message.Message) { *s = append(*s, m) }

// A revert ends after the lead of its operator: no other one can report it.
func TestTheLastRevertOfALeaderIsSent(t *testing.T) {
	var sent sentMessages
	rep := New(Options{Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Notify: &sent})
	rep.sendDrift(&lock.Lock{Key: "locker/shop", Release: release.Key{Namespace: "apps", Name: "shop"}},
		&v1alpha1.DriftRecord{Action: v1alpha1.DriftActionReverted})
	check.That(t, len(sent) == 1 && sent[0].Drift != nil, "sent %v", sent)
}
