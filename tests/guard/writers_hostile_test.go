package guard

import (
	"testing"

	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A user with the role edit becomes no expected writer, whatever the user copies, deletes or relabels.
func TestHostile_NoUserBecomesAnExpectedWriter(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	config, err := f.Cluster.UserConfig("ci", "deployers", "system:masters")
	check.NoError(t, err)
	ci, me := f.as(config), "mallory-of-"+f.Apps
	settings := func(value string) string { return kit.ConfigMap("settings", value) }
	f.CreateHelmRelease("app", deployers)
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	copied := kit.ForgedRecord{Name: "app", Manifest: settings("1"), Labels: map[string]string{"by": "ci"}}
	ci.Forge(copied)
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 1 was stored by user ci")

	// A record with other labels is the same content, with the same writer.
	copied.Labels["by"] = "deployers"
	f.mallory.Forge(copied)
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 1 was stored by user ci")

	// Everything of a record is copied but its user.
	copied.Revision, copied.Labels["by"] = 2, "ci"
	f.mallory.Forge(copied)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 2", me)
	f.wasFlagged("app 2 " + me)

	// The end of the trust is not the end of the flag, nor is an earlier revision of an expected user.
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Status: "failed", Manifest: settings("3")})
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonNotDeployed)
	f.deleteRecord(f.mallory, "app", 3)
	f.WaitReady("app", 2)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 2", me)
	f.deleteRecord(f.mallory, "app", 2)
	f.WaitReady("app", 1)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 2", me)

	// An earlier record that a user deploys again is that user's.
	ci.Forge(kit.ForgedRecord{Name: "app", Status: "superseded", Manifest: settings("1")})
	ci.Forge(kit.ForgedRecord{Name: "app", Revision: 4, Manifest: settings("4")})
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 4")
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Manifest: settings("1")})
	f.deleteRecord(f.mallory, "app", 4)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 1", me)

	// A change that is not witnessed is not of the expected writer of the record.
	ci.Forge(kit.ForgedRecord{Name: "app", Revision: 5, Manifest: settings("5")})
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 5")
	f.front.to("")
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 5, Manifest: settings("unseen")})
	f.writer("app", v1alpha1.ReasonWriterUnknown, "did not see")
	f.front.to(f.guardAddress(f.Running))

	// A record that names kinds that are not served cannot be judged, and has a writer all the same.
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 6, Manifest: settings("6") + `---
apiVersion: nowhere.example.com/v1
kind: Nothing
metadata: {name: nothing}
`})
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 6", me)

	impersonated := rest.CopyConfig(config)
	impersonated.Impersonate = rest.ImpersonationConfig{UserName: me}
	ci.Forge(kit.ForgedRecord{Name: "app", Revision: 7, Manifest: settings("7")})
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 7")
	f.as(impersonated).Forge(kit.ForgedRecord{Name: "app", Revision: 8, Manifest: settings("8")})
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 8", me)
}
