package inspect

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestLastSeen(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	lease := func(holder string, seconds int32, ago time.Duration) coordinationv1.LeaseSpec {
		renewed := metav1.NewMicroTime(now.Add(-ago))
		return coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed}
	}
	for name, c := range map[string]struct {
		lease coordinationv1.LeaseSpec
		gone  bool
	}{
		"renewed just now":              {lease("a", 15, time.Second), false},
		"renewed by a clock that leads": {lease("a", 15, -time.Minute), false},
		"late":                          {lease("a", 15, 30*time.Second), false},
		"expired":                       {lease("a", 15, 31*time.Second), true},
		"given up":                      {lease("", 1, time.Second), true},
		"never held":                    {coordinationv1.LeaseSpec{}, false},
	} {
		_, gone := LastSeen(c.lease, now)
		check.That(t, gone == c.gone, "%s: gone is %v", name, gone)
	}
}
