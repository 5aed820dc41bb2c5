package release_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/release"
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
		rel, err := release.Decode(payload, 1<<16)
		if err == nil {
			if rel.Name == "" || rel.Namespace == "" || rel.Manifest == "" || rel.Revision < 1 || !release.Known(rel.Status) {
				t.Errorf("an incomplete release: %+v", rel)
			}
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
		rec, err := release.Secrets.RecordOf(&metav1.ObjectMeta{Namespace: "apps", Name: secret,
			Labels: map[string]string{"name": name, "version": version, "status": status, "createdAt": at, "modifiedAt": at, "owner": owner}})
		if err != nil {
			if !errors.Is(err, release.ErrRecord) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		if release.ObjectName(rec.Key.Name, rec.Revision) != secret || rec.Key.Name != name ||
			fmt.Sprint(rec.Revision) != version || rec.Revision < 1 || !release.Known(rec.Status) {
			t.Errorf("Secret %q with name %q, version %q, status %q is %+v", secret, name, version, status, rec)
		}
	})
}
