package lock

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func detecting(spec v1alpha1.HelmReleaseSpec) v1alpha1.HelmReleaseSpec {
	spec.Mode = v1alpha1.ModeDetect
	return spec
}

func TestOnlyADeployedReleaseIsLocked(t *testing.T) {
	cases := map[release.Status]struct {
		state  v1alpha1.State
		reason string
	}{
		release.StatusDeployed:        {v1alpha1.StateDeployed, v1alpha1.ReasonLocked},
		release.StatusFailed:          {v1alpha1.StateFailed, v1alpha1.ReasonNotDeployed},
		release.StatusUninstalled:     {v1alpha1.StateUninstalled, v1alpha1.ReasonNotDeployed},
		release.StatusSuperseded:      {v1alpha1.StateUnknown, v1alpha1.ReasonNotDeployed},
		release.StatusUnknown:         {v1alpha1.StateUnknown, v1alpha1.ReasonNotDeployed},
		release.StatusUninstalling:    {v1alpha1.StateTransitioning, v1alpha1.ReasonTransitioning},
		release.StatusPendingInstall:  {v1alpha1.StateTransitioning, v1alpha1.ReasonTransitioning},
		release.StatusPendingUpgrade:  {v1alpha1.StateTransitioning, v1alpha1.ReasonTransitioning},
		release.StatusPendingRollback: {v1alpha1.StateTransitioning, v1alpha1.ReasonTransitioning},
	}
	for status, want := range cases {
		t.Run(string(status), func(t *testing.T) {
			d := Decide(Input{Found: true, Record: release.Record{Revision: 3, Status: status, Created: epoch}, Now: epoch})
			check.That(t,
				d.Lock == (status == release.StatusDeployed) && d.State == want.state && d.Reason == want.reason && d.Message != "",
				"decision %+v", d)
		})
	}
}

func suspendedSpec(suspend bool, until *metav1.Time) v1alpha1.HelmReleaseSpec {
	return v1alpha1.HelmReleaseSpec{Protection: v1alpha1.Protection{Suspend: suspend, SuspendUntil: until}}
}

func ignoring(until *metav1.Time) v1alpha1.HelmReleaseSpec {
	return v1alpha1.HelmReleaseSpec{Protection: v1alpha1.Protection{Ignore: []v1alpha1.IgnoreRule{
		{Paths: []string{"/spec/replicas"}}, {Paths: []string{"/data"}, Until: until}}}}
}

func TestDecide(t *testing.T) {
	deployed := release.Record{Revision: 3, Status: release.StatusDeployed}
	pending := release.Record{Revision: 4, Status: release.StatusPendingUpgrade, Created: epoch.Add(-time.Hour),
		Modified: epoch}
	later := metav1.NewTime(epoch.Add(30 * time.Minute))
	cases := map[string]struct {
		in    Input
		check func(Decision) bool
	}{
		"a release without records waits for one": {
			Input{Now: epoch}, func(d Decision) bool { return !d.Lock && d.State == v1alpha1.StateSecretNotFound }},
		"a record that may be newer and cannot be read unlocks": {
			Input{Found: true, Record: deployed, Malformed: errors.New("label missing"), Now: epoch},
			func(d Decision) bool {
				return !d.Lock && d.State == v1alpha1.StateError && d.Message == "label missing"
			}},
		"suspend unlocks and keeps the state": {
			Input{Spec: suspendedSpec(true, nil), Found: true, Record: deployed, Now: epoch},
			func(d Decision) bool {
				return !d.Lock && d.Reason == v1alpha1.ReasonSuspended && d.State == v1alpha1.StateDeployed && d.Again.IsZero()
			}},
		"the reason and the author of a suspension are in its message": {
			Input{Spec: suspendedSpec(true, nil), Found: true, Record: deployed, Now: epoch, SuspendReason: "INC-7",
				SuspendedBy: "alice"},
			func(d Decision) bool {
				return d.Message == "suspended by spec.suspend (INC-7), by alice; nothing is reverted"
			}},
		"and in the one of a pause that ends": {
			Input{Spec: suspendedSpec(false, &later), Found: true, Record: deployed, Now: later.Add(-Notice),
				SuspendedBy: "alice"},
			func(d Decision) bool {
				return d.Message == "suspended until "+later.UTC().Format(time.RFC3339)+
					", by alice; drift is reported now and reverted then"
			}},
		"each at a bounded length": {
			Input{Spec: suspendedSpec(true, nil), Found: true, Record: deployed, Now: epoch,
				SuspendReason: strings.Repeat("x", 1000), SuspendedBy: strings.Repeat("y", 1000)},
			func(d Decision) bool { return len(d.Message) < 2*mostWhy+100 }},
		"suspendUntil unlocks and decides anew before its time": {
			Input{Spec: suspendedSpec(false, &later), Found: true, Record: deployed, Now: epoch},
			func(d Decision) bool {
				return !d.Lock && d.Reason == v1alpha1.ReasonSuspended && d.Again.Equal(later.Add(-Notice)) && d.Resumes.IsZero()
			}},
		"then drift is reported until its time": {
			Input{Spec: suspendedSpec(false, &later), Found: true, Record: deployed, Now: later.Add(-Notice)},
			func(d Decision) bool {
				return d.Lock && d.Reason == v1alpha1.ReasonSuspended && d.Again.Equal(later.Time) && d.Resumes.Equal(later.Time)
			}},
		"unless there is nothing to compare": {
			Input{Spec: suspendedSpec(false, &later), Found: true, Record: pending, Now: later.Add(-Notice)},
			func(d Decision) bool {
				return !d.Lock && d.Reason == v1alpha1.ReasonSuspended && d.Again.Equal(later.Time) && d.Resumes.IsZero()
			}},
		"or nothing to revert": {
			Input{Spec: detecting(suspendedSpec(false, &later)), Found: true, Record: deployed, Now: later.Add(-Notice)},
			func(d Decision) bool {
				return !d.Lock && d.Reason == v1alpha1.ReasonSuspended && d.Again.Equal(later.Time) && d.Resumes.IsZero()
			}},
		"suspendUntil in the past has no effect": {
			Input{Spec: suspendedSpec(false, &later), Found: true, Record: deployed, Now: later.Time},
			func(d Decision) bool { return d.Lock && d.Again.IsZero() }},
		"the end of an ignore rule is decided anew": {
			Input{Spec: ignoring(&later), Found: true, Record: deployed, Now: later.Add(-Notice)},
			func(d Decision) bool { return d.Lock && d.Again.Equal(later.Time) }},
		"and announced before": {
			Input{Spec: ignoring(&later), Found: true, Record: deployed, Now: epoch},
			func(d Decision) bool { return d.Lock && d.Again.Equal(later.Add(-Notice)) }},
		"an ended ignore rule has no effect": {
			Input{Spec: ignoring(&later), Found: true, Record: deployed, Now: later.Time},
			func(d Decision) bool { return d.Lock && d.Again.IsZero() }},
		"suspend outlasts suspendUntil": {
			Input{Spec: suspendedSpec(true, &later), Found: true, Record: deployed, Now: epoch},
			func(d Decision) bool {
				return !d.Lock && d.Again.IsZero() && strings.Contains(d.Message, "spec.suspend")
			}},
		"an operation is reported since its last record and looked at again when it should be over": {
			Input{Found: true, Record: pending, Now: epoch},
			func(d Decision) bool { return d.Since.Equal(epoch) && d.Again.Equal(epoch.Add(stuckAfter)) }},
		"an operation that takes too long is stuck": {
			Input{Found: true, Record: pending, Now: epoch.Add(stuckAfter)},
			func(d Decision) bool {
				return d.Reason == v1alpha1.ReasonStuckTransitioning && d.Again.IsZero() &&
					strings.Contains(d.Message, "2026-01-01T12:00:00Z")
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.in)
			check.That(t, tc.check(d), "decision %+v", d)
		})
	}
}

func TestAReleaseWithoutARecordThatIsReadSaysWhereToLook(t *testing.T) {
	secrets := []release.Storage{release.Secrets}
	elsewhere := release.Record{Key: release.Key{Namespace: "apps", Name: "web"}, Storage: release.ConfigMaps,
		ObjectName: "sh.helm.release.v1.web.v1"}
	deleted := release.Record{Key: elsewhere.Key, Storage: release.Secrets, Revision: 3,
		ObjectName: "sh.helm.release.v1.web.v3", Status: release.StatusDeployed}
	for name, tc := range map[string]struct {
		in           Input
		reason, says string
	}{
		"nothing anywhere": {Input{Storages: secrets}, v1alpha1.ReasonSecretNotFound,
			"no Secret holds a record of Helm release /; it is locked as soon as Helm has installed it (ConfigMaps are not " +
				"read: see --release-storage)"},
		"all storages are read": {Input{Storages: release.Storages[:]}, v1alpha1.ReasonSecretNotFound,
			"no Secret or ConfigMap holds a record of Helm release "},
		"a record that has been deleted": {Input{Storages: secrets, Last: deleted}, v1alpha1.ReasonSecretNotFound,
			"the record of revision 3 of Helm release /, Secret apps/sh.helm.release.v1.web.v3, has been deleted; "},
		"a record that an uninstallation deleted": {Input{Storages: secrets, Last: release.Record{
			Status: release.StatusUninstalling}}, v1alpha1.ReasonSecretNotFound,
			"no Secret holds a record of Helm release "},
		"in a ConfigMap": {Input{Storages: secrets, Elsewhere: Elsewhere{Record: elsewhere, Found: true}},
			v1alpha1.ReasonRecordNotRead, "is in ConfigMap apps/sh.helm.release.v1.web.v1, and this operator does not " +
				"read ConfigMaps; run it with --release-storage=secret,configmap"},
		"not known": {Input{Storages: secrets, Elsewhere: Elsewhere{Unknown: "the operator may not list ConfigMaps"}},
			v1alpha1.ReasonSecretNotFound, "whether there is one elsewhere is not known: the operator may not"},
		"in both": {Input{Found: true, Record: release.Record{Status: release.StatusDeployed, Contested: true}},
			v1alpha1.ReasonRecordsInTwoStorages, "delete the records that Helm does not use"},
	} {
		d := Decide(tc.in)
		check.That(t, !d.Lock && d.Reason == tc.reason && strings.Contains(d.Message, tc.says), "%s: %+v", name, d)
	}
}
