package remediate

import (
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// A worker judges the objects of a lock one after the other. The one that is gone may be the first, before any object
// shows Helm's field manager, and the record may come from a backup.
func TestI4_AnObjectJudgedFirstIsCreatedAsTheOthers(t *testing.T) {
	gone, other := manifest.ID{Kind: "Service", Name: "web"}, manifest.ID{Kind: "ConfigMap", Name: "settings"}
	l := lock.New(&lock.Lock{Writer: "velero-server"}, []*lock.Object{{ID: gone, Kind: &lock.Kind{}}, {ID: other}})
	l.Recheck(time.Now(), nil)
	work, _ := l.Take(time.Now())
	var missing *lock.Work
	for _, w := range work {
		if w.ID == gone {
			missing = w
		}
	}
	v := &result{Drift: events.Drift{Work: missing,
		Found: judge.Result{Owner: drift.Owner{Manager: l.HelmManager()}}}}
	l.Done(other, lock.Outcome{Good: true, Owner: drift.Owner{Manager: "helm-controller", Known: true}})
	v.revert = revert.Creation(v.Object, map[string]any{}, nil, v.Found.Owner)
	(&reverter{}).writeAsHelm(t.Context(), l, v)
	check.That(t, v.revert.Manager == "helm-controller" && v.Found.Owner.Manager == "helm-controller",
		"it is created by %s", v.revert.Manager)
}
