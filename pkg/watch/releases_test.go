package watch

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

var web = release.Key{Namespace: "apps", Name: "web"}

// follower returns a follower of records and the releases it reported.
func follower() (*Releases, *[]release.Key) {
	changed := &[]release.Key{}
	fence := types.NamespacedName{Namespace: "own", Name: "own-mark"}
	r := NewReleases(fake.NewSimpleMetadataClient(fake.NewTestScheme()), release.Storages[:], fence, fixture.Quiet(),
		func(key release.Key) { *changed = append(*changed, key) })
	return r, changed
}

func secret(revision, uid, version, status string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "sh.helm.release.v1.web.v" + revision, UID: types.UID(uid), ResourceVersion: version,
		Labels: map[string]string{"owner": "helm", "name": "web", "version": revision, "status": status},
	}}
}

func newest(t *testing.T, r *Releases, want string) {
	t.Helper()
	rec, found := r.Newest(web)
	got := ""
	if found {
		got = rec.ObjectName + " " + rec.ResourceVersion + " " + string(rec.Status)
	}
	check.Equal(t, got, want, "newest")
}

func TestReleasesFollowsAnUpgradeAndAnUninstall(t *testing.T) {
	r, changed := follower()
	newest(t, r, "")
	r.stores[0].observed(secret("1", "a", "10", "deployed"))
	newest(t, r, "sh.helm.release.v1.web.v1 10 deployed")
	r.stores[0].observed(secret("2", "b", "20", "pending-upgrade"))
	newest(t, r, "sh.helm.release.v1.web.v2 20 pending-upgrade")
	r.stores[0].observed(secret("1", "a", "21", "superseded"))
	r.stores[0].observed(secret("2", "b", "22", "deployed"))
	newest(t, r, "sh.helm.release.v1.web.v2 22 deployed")
	r.stores[0].gone(secret("2", "b", "23", "deployed"))
	newest(t, r, "sh.helm.release.v1.web.v1 21 superseded")
	r.stores[0].gone(secret("1", "a", "24", "superseded"))
	newest(t, r, "")
	check.That(t, len(*changed) == 6 && !slices.ContainsFunc(*changed, func(k release.Key) bool { return k != web }),
		"told of %v", *changed)
	check.That(t, len(r.records) == 0 && len(r.keys) == 0, "remembers %v, %v", r.records, r.keys)
}

func TestAReinstallOfTheSameRevisionReplacesTheRecord(t *testing.T) {
	r, _ := follower()
	r.stores[0].observed(secret("1", "a", "10", "deployed"))
	r.stores[0].observed(secret("1", "b", "30", "pending-install")) // the deletion between was missed
	newest(t, r, "sh.helm.release.v1.web.v1 30 pending-install")
	check.Equal(t, len(r.records[web]), 1, "remembers %v", r.records[web])
}

func TestAListForgetsWhatWentDuringAGap(t *testing.T) {
	r, changed := follower()
	r.stores[0].observed(secret("1", "a", "10", "superseded"))
	r.stores[0].observed(secret("2", "b", "20", "deployed"))
	*changed = nil
	r.stores[0].listed(map[types.NamespacedName]struct{}{{Namespace: "apps", Name: "sh.helm.release.v1.web.v1"}: {}})
	newest(t, r, "sh.helm.release.v1.web.v1 10 superseded")
	check.That(t, slices.Equal(*changed, []release.Key{web}), "told of %v", *changed)
}

func TestATamperedRecordIsReportedUntilItIsPutRight(t *testing.T) {
	r, _ := follower()
	r.stores[0].observed(secret("1", "a", "10", "deployed"))
	tampered := secret("1", "a", "11", "deployed")
	tampered.Labels["version"] = "7"
	r.stores[0].observed(tampered)
	newest(t, r, "")
	bad := r.Malformed(web)
	check.That(t, len(bad) == 1 && bad[0].Revision == 1 && bad[0].Err != nil, "malformed: %v", bad)
	r.stores[0].observed(secret("1", "a", "12", "deployed"))
	check.Equal(t, len(r.Malformed(web)), 0, "the record that was put right is still malformed")
	newest(t, r, "sh.helm.release.v1.web.v1 12 deployed")
}

// Helm finds records by their label, people by the name of the Secret: where the two disagree the Secret is no
// record of either release, and may be meant as the newest of either.
func TestAMalformedRecordCountsForTheReleaseInItsNameAndForTheOneInItsLabel(t *testing.T) {
	r, changed := follower()
	api := release.Key{Namespace: "apps", Name: "api"}
	r.stores[0].observed(secret("1", "a", "10", "deployed"))
	*changed = nil
	posing := secret("9", "b", "20", "deployed") // of web by its name
	posing.Labels["name"] = "api"
	r.stores[0].observed(posing)
	for _, key := range []release.Key{web, api} {
		bad := r.Malformed(key)
		check.That(t, len(bad) == 1 && bad[0].Revision == 9, "malformed of %s: %v", key, bad)
		if _, _, err := r.Current(key); !errors.Is(err, release.ErrRecord) {
			t.Errorf("current of %s: %v", key, err)
		}
	}
	check.That(t, len(*changed) == 2 && slices.Contains(*changed, web) && slices.Contains(*changed, api), "told of %v",
		*changed)
	for name, forget := range map[string]func(){
		"deleted": func() { r.stores[0].gone(posing) },
		"gone in a list": func() {
			name := types.NamespacedName{Namespace: "apps", Name: secret("1", "", "", "").Name}
			r.stores[0].listed(map[types.NamespacedName]struct{}{name: {}})
		},
	} {
		r.stores[0].observed(posing)
		*changed = nil
		forget()
		check.That(t, len(*changed) == 2 && len(r.keys) == 1 && len(r.records) == 1, "%s: told of %v, remembers %v, %v",
			name, *changed, r.records, r.keys)
	}
	rec, found, err := r.Current(web)
	check.That(t, err == nil && found && rec.Revision == 1, "current is %v, %v, %v", rec, found, err)
	_, found, err = r.Current(api)
	check.That(t, err == nil && !found, "current of a release without records: %v, %v", found, err)
}

// Two storages have objects of the same names, and each list concerns its own storage only.
func TestEachStorageIsFollowedForItself(t *testing.T) {
	r, changed := follower()
	secrets, configMaps := r.stores[0], r.stores[1]
	secrets.observed(secret("1", "a", "10", "deployed"))
	configMaps.observed(secret("1", "b", "11", "deployed"))
	if rec, _ := r.Newest(web); !rec.Contested {
		t.Errorf("newest is %+v", rec)
	}
	secrets.listed(nil)
	rec, found := r.Newest(web)
	check.That(t, found && rec.Storage == release.ConfigMaps && !rec.Contested && rec.UID == "b", "newest is %+v", rec)
	secrets.observed(secret("7", "c", "12", "uninstalled"))
	configMaps.observed(secret("8", "d", "13", "deployed"))
	rec, _ = r.Newest(web)
	check.That(t, len(r.Before(rec)) == 1 && r.Before(rec)[0].UID == "b", "before %+v is %+v", rec, r.Before(rec))
	configMaps.listed(nil)
	newest(t, r, "sh.helm.release.v1.web.v7 12 uninstalled")

	*changed = nil
	other := secret("9", "e", "14", "deployed")
	other.Name = "settings" // Helm passes over it, too
	configMaps.observed(other)
	check.That(t, len(*changed) == 0 && len(r.Malformed(web)) == 0, "told of %v, malformed: %v", *changed,
		r.Malformed(web))
}
