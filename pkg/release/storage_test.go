package release_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestParseStoragesTakesWhatHelmTakes(t *testing.T) {
	secrets, configMaps := []release.Storage{release.Secrets}, []release.Storage{release.ConfigMaps}
	for names, want := range map[string][]release.Storage{
		"": secrets, "secret": secrets, "secrets": secrets, "configmap": configMaps, "configmaps": configMaps,
		"secret,configmap": release.Storages[:], "secret, configmap,secrets": release.Storages[:],
		"sql": nil, "Secret": nil, "secret,": nil,
	} {
		got, err := release.ParseStorages(names)
		check.That(t, slices.Equal(got, want) && (err == nil) == (want != nil), "%q is %v, %v", names, got, err)
	}
}

func TestNewestCountsEachStorageForItself(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(1700000000, 0).Add(time.Duration(minute) * time.Minute) }
	later := func(rec release.Record, version string) release.Record {
		rec.ResourceVersion = version
		return rec
	}
	record := func(s release.Storage, revision, minute int, status release.Status) release.Record {
		return release.Record{Storage: s, Revision: revision, Status: status, Modified: at(minute),
			UID: types.UID(s.Kind()), ResourceVersion: "1"}
	}
	const secret, configMap = release.Secrets, release.ConfigMaps
	for name, tc := range map[string]struct {
		records   []release.Record
		storage   release.Storage
		revision  int
		contested bool
	}{
		"only ConfigMaps": {[]release.Record{record(configMap, 1, 1, release.StatusSuperseded),
			record(configMap, 2, 2, release.StatusDeployed)}, configMap, 2, false},
		"the one modified last, not the highest revision": {[]release.Record{record(secret, 7, 1,
			release.StatusDeployed), record(configMap, 1, 2, release.StatusDeployed)}, configMap, 1, true},
		"the other way round": {[]release.Record{record(configMap, 7, 1, release.StatusDeployed),
			record(secret, 1, 2, release.StatusPendingInstall)}, secret, 1, true},
		"a ConfigMap of the same second": {[]release.Record{later(record(secret, 1, 1, release.StatusDeployed), "99"),
			later(record(configMap, 1, 1, release.StatusDeployed), "100")}, configMap, 1, true},
		"a Secret of the same second": {[]release.Record{later(record(secret, 1, 1, release.StatusDeployed), "100"),
			later(record(configMap, 1, 1, release.StatusDeployed), "99")}, secret, 1, true},
		"uninstalled in Secrets before it was installed in ConfigMaps": {[]release.Record{
			record(secret, 7, 1, release.StatusUninstalled), record(configMap, 1, 2, release.StatusDeployed)},
			configMap, 1, false},
		"uninstalled in Secrets": {[]release.Record{record(secret, 7, 9, release.StatusUninstalled),
			record(configMap, 1, 2, release.StatusDeployed)}, configMap, 1, false},
		"uninstalled in ConfigMaps": {[]release.Record{record(configMap, 7, 9, release.StatusUninstalled),
			record(secret, 1, 2, release.StatusDeployed)}, secret, 1, false},
		"uninstalled in both": {[]release.Record{record(configMap, 1, 1, release.StatusUninstalled),
			record(secret, 2, 2, release.StatusUninstalled)}, secret, 2, false},
		"rolled back in the one where it was uninstalled": {[]release.Record{
			record(secret, 7, 1, release.StatusUninstalled), record(secret, 8, 3, release.StatusPendingRollback),
			record(configMap, 1, 2, release.StatusDeployed)}, secret, 8, true},
	} {
		got, found := release.Newest(tc.records)
		check.That(t,
			found && got.Storage == tc.storage && got.Revision == tc.revision && got.Contested == tc.contested,
			"%s: newest is %+v", name, got)
	}
	alone, _ := release.Newest([]release.Record{record(secret, 1, 1, release.StatusDeployed)})
	contested := alone
	contested.Contested = true
	check.That(t, !alone.Same(contested) && contested.Same(contested),
		"a record that another storage contests is the same as before")
}

func TestAConfigMapIsARecordByItsName(t *testing.T) {
	for name, want := range map[string]bool{"sh.helm.release.v1.app.v1": true, "sh.helm.release.v1.": true, "app": false} {
		check.Equal(t, release.ConfigMaps.MayBeRecord(&metav1.ObjectMeta{Name: name}), want, "%v", name)
	}
}
