package release_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range [][]byte{
		pack(minimal), encode([]byte(minimal)), pack(minimal)[:50], pack("{}"), []byte("%"), nil,
		encode([]byte(`{"chart":{"metadata":{"name":"a"}},"info":{"status":"deployed","last_deployed":"2026-01-01T00:00:00Z"}}`)),
		encode([]byte(`{"config":[[{}],1e5,"\ud800",null,true]}`)),
	} {
		f.Add(seed)
	}
	kinds := []error{release.ErrNoPayload, release.ErrTooLarge, release.ErrTruncated,
		release.ErrFormat, release.ErrIncomplete, release.ErrNoManifest}
	f.Fuzz(func(t *testing.T, payload []byte) {
		rel, err := release.Decode(payload, 1<<16, nil)
		if err == nil {
			check.That(t,
				rel.Name != "" && rel.Namespace != "" && rel.Manifest != "" && rel.Revision >= 1 && release.Known(rel.Status),
				"an incomplete release: %+v", rel)
			return
		}
		for _, kind := range kinds {
			if errors.Is(err, kind) {
				return
			}
		}
		t.Errorf("an error without a kind: %v", err)
	})
}

func FuzzRecordOf(f *testing.F) {
	f.Add("sh.helm.release.v1.app.v1", "app", "1", "deployed", "1700000000", "helm")
	f.Add("sh.helm.release.v1.a.v2.v10", "a.v2", "10", "pending-upgrade", "-1", "helm")
	f.Add("sh.helm.release.v1.app.v01", "app", "1", "", "", "")
	f.Add("sh.helm.release.v1.app.v9223372036854775808", "app", "9223372036854775808", "x", "9223372036854775808", "helm")
	f.Fuzz(func(t *testing.T, secret, name, version, status, at, owner string) {
		meta := &metav1.ObjectMeta{Namespace: "apps", Name: secret,
			Labels: map[string]string{"name": name, "version": version, "status": status, "createdAt": at, "modifiedAt": at, "owner": owner}}
		rec, err := release.Secrets.RecordOf(meta)
		other, otherErr := release.ConfigMaps.RecordOf(meta)
		check.That(t, (err == nil) == (otherErr == nil) && (err != nil || release.ConfigMaps.MayBeRecord(meta)),
			"%q in a Secret: %v, in a ConfigMap: %v, which may be a record: %v", secret, err, otherErr,
			release.ConfigMaps.MayBeRecord(meta))
		if other.Storage = release.Secrets; err == nil && other != rec {
			t.Errorf("in a Secret it is %+v, in a ConfigMap %+v", rec, other)
		}
		if err != nil {
			check.That(t, errors.Is(err, release.ErrRecord), "an error of no kind: %v", err)
			return
		}
		check.That(t,
			release.ObjectName(rec.Key.Name, rec.Revision) == secret && rec.Key.Name == name &&
				fmt.Sprint(rec.Revision) == version && rec.Revision >= 1 && release.Known(rec.Status),
			"Secret %q with name %q, version %q, status %q is %+v", secret, name, version, status, rec)
	})
}

// The active record depends on the records alone, and not on their order; and a release is locked by one of two
// storages only if it is uninstalled in the other one.
func FuzzNewest(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 1, 1, 2, 0})
	f.Add([]byte{0, 7, 1, 1, 1, 1, 2, 0, 1, 2, 2, 2})
	statuses := []release.Status{release.StatusDeployed, release.StatusUninstalled, release.StatusPendingUpgrade}
	f.Fuzz(func(t *testing.T, content []byte) {
		var records []release.Record
		for four := range slices.Chunk(content[:len(content)/4*4], 4) {
			records = append(records, release.Record{Storage: release.Storage(four[0] % 2),
				Revision: int(four[1]%8) + 1, Modified: time.Unix(int64(four[2]%4), 0), Status: statuses[four[3]%3],
				UID: types.UID(fmt.Sprint(len(records))), ResourceVersion: fmt.Sprint(len(records) + 1)})
		}
		newest, found := release.Newest(records)
		check.Must(t, found == (len(records) > 0), "of %d records one is found: %v", len(records), found)
		of := func(s release.Storage) (release.Record, bool) {
			return release.Newest(slices.DeleteFunc(slices.Clone(records),
				func(r release.Record) bool { return r.Storage != s }))
		}
		secret, inSecrets := of(release.Secrets)
		configMap, inConfigMaps := of(release.ConfigMaps)
		gone := func(r release.Record) bool { return r.Status == release.StatusUninstalled }
		contested := inSecrets && inConfigMaps && !gone(secret) && !gone(configMap)
		check.That(t, newest.Contested == contested, "contested is %v, of %+v and %+v", newest.Contested, secret, configMap)
		if uncontested := newest; found {
			uncontested.Contested = false
			check.That(t,
				(uncontested == secret || uncontested == configMap) && (!gone(newest) || (!inSecrets || gone(secret)) &&
					(!inConfigMaps || gone(configMap))), "newest is %+v, of %+v and %+v", newest, secret, configMap)
		}
		slices.Reverse(records)
		again, _ := release.Newest(records)
		check.That(t, again == newest, "the other way round it is %+v, not %+v", again, newest)
	})
}
