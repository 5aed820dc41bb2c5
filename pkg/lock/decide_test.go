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
			d := Decide(Input{Found: true, Record: release.Record{Revision: 3, Status: status, Created: epoch},
				Now: epoch})
			check.That(t,
				d.Lock == (status == release.StatusDeployed) && d.State == want.state && d.Reason == want.reason &&
					d.Message != "",
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
	at := func(spec v1alpha1.HelmReleaseSpec, rec release.Record, now time.Time) Input {
		return Input{Spec: spec, Found: true, Record: rec, Now: now}
	}
	because := func(in Input, reason, author string) Input {
		in.SuspendReason, in.SuspendedBy = reason, author
		return in
	}
	none, paused, notice := v1alpha1.HelmReleaseSpec{}, suspendedSpec(false, &later), later.Add(-Notice)
	forever := suspendedSpec(true, nil)
	for name, tc := range map[string]struct {
		in             Input
		lock           bool
		reason         string
		again, resumes time.Time
		says           string
	}{
		"a release without records waits for one": {in: Input{Now: epoch}, reason: v1alpha1.ReasonSecretNotFound},
		"suspend unlocks and keeps the state":     {in: at(forever, deployed, epoch), reason: v1alpha1.ReasonSuspended},
		"the reason and the author of a suspension are in its message": {
			in:     because(at(forever, deployed, epoch), "INC-7", "alice"),
			reason: v1alpha1.ReasonSuspended, says: "suspended by spec.suspend (INC-7), by alice; nothing is reverted",
		},
		"and in the one of a pause that ends": {in: because(at(paused, deployed, notice), "", "alice"), lock: true,
			reason: v1alpha1.ReasonSuspended, again: later.Time, resumes: later.Time,
			says: "suspended until " + later.UTC().Format(time.RFC3339) + ", by alice; drift is reported now and reverted then"},
		"suspendUntil unlocks and decides anew before its time": {in: at(paused, deployed, epoch),
			reason: v1alpha1.ReasonSuspended, again: notice},
		"then drift is reported until its time": {in: at(paused, deployed, notice), lock: true,
			reason: v1alpha1.ReasonSuspended, again: later.Time, resumes: later.Time},
		"unless there is nothing to compare": {in: at(paused, pending, notice), reason: v1alpha1.ReasonSuspended,
			again: later.Time},
		"or nothing to revert": {in: at(detecting(paused), deployed, notice), reason: v1alpha1.ReasonSuspended,
			again: later.Time},
		"suspendUntil in the past has no effect": {in: at(paused, deployed, later.Time), lock: true,
			reason: v1alpha1.ReasonLocked},
		"the end of an ignore rule is decided anew": {in: at(ignoring(&later), deployed, notice), lock: true,
			reason: v1alpha1.ReasonLocked, again: later.Time},
		"and announced before": {in: at(ignoring(&later), deployed, epoch), lock: true, reason: v1alpha1.ReasonLocked,
			again: notice},
		"an ended ignore rule has no effect": {in: at(ignoring(&later), deployed, later.Time), lock: true,
			reason: v1alpha1.ReasonLocked},
		"suspend outlasts suspendUntil": {in: at(suspendedSpec(true, &later), deployed, epoch),
			reason: v1alpha1.ReasonSuspended, says: "spec.suspend"},
		"an operation is looked at again when it should be over": {in: at(none, pending, epoch),
			reason: v1alpha1.ReasonTransitioning, again: epoch.Add(stuckAfter)},
		"an operation that takes too long is stuck": {in: at(none, pending, epoch.Add(stuckAfter)),
			reason: v1alpha1.ReasonStuckTransitioning, says: "2026-01-01T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.in)
			check.That(t, d.Lock == tc.lock && d.Reason == tc.reason && d.Again.Equal(tc.again) &&
				d.Resumes.Equal(tc.resumes) && strings.Contains(d.Message, tc.says), "decision %+v", d)
			check.That(t, !tc.in.Spec.Suspend || d.State == v1alpha1.StateDeployed, "the state is %s", d.State)
		})
	}
	d := Decide(Input{Found: true, Record: deployed, Malformed: errors.New("label missing"), Now: epoch})
	check.That(t, !d.Lock && d.State == v1alpha1.StateError && d.Message == "label missing",
		"a record that may be newer and cannot be read: %+v", d)
	check.Equal(t, Decide(Input{Now: epoch}).State, v1alpha1.StateSecretNotFound)
	check.That(t, Decide(at(none, pending, epoch)).Since.Equal(epoch), "an operation begins at another record")
	d = Decide(because(at(forever, deployed, epoch), strings.Repeat("x", 1000), strings.Repeat("y", 1000)))
	check.That(t, len(d.Message) < 2*mostWhy+100, "a long reason and author make %d bytes", len(d.Message))
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
