package order

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// inOtherStorage runs a case for both Helm versions and both orders: a release is locked in one storage, and Helm
// begins to work in the other one, where it finds no release and takes the objects over.
func inOtherStorage(t *testing.T, test func(b *fixture, before, after cluster.Helm)) {
	for name, h := range kit.Helms(kit.Shared) {
		t.Run(name+" from Secrets to ConfigMaps", func(t *testing.T) {
			test(newFixtureOf(t, "secret,configmap"), h, inConfigMaps(h))
		})
		t.Run(name+" from ConfigMaps to Secrets", func(t *testing.T) {
			test(newFixtureOf(t, "secret,configmap"), inConfigMaps(h), h)
		})
	}
}

// The operator's view of the records is stale, so it takes Helm's writes for drift. The decisive record is in another
// storage than the locked one.
func TestI1_CheckReadsTheOtherStorage(t *testing.T) {
	inOtherStorage(t, func(b *fixture, before, after cluster.Helm) {
		chart := b.installed(before, oneValue, "one")
		b.Proxy.Reset()
		release := b.Proxy.HoldWatch(isRecordWatch)
		b.Helm(after, "upgrade", "--install", "app", chart, "--set", "value=two")
		b.waitLists(2)
		b.wantValue("app", "two")
		b.wantNoWrites()
		release()
		b.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordsInTwoStorages)
		b.stays("two")
		b.wantNoWrites()
	})
}

// A change equals the next write of Helm through the other storage. Helm 3 finds nothing to do, and the revert of the
// change is applied after that. (Helm 4 writes in any case, to own the field.)
func TestI1_LateRevertAndTheOtherStorage(t *testing.T) {
	inOtherStorage(t, func(b *fixture, before, after cluster.Helm) {
		if after.Name == "helm 4" {
			b.Skip("it writes to own the field")
		}
		chart := b.installed(before, oneValue, "one")
		b.lateRevert("two", func() { b.Helm(after, "upgrade", "--install", "app", chart, "--set", "value=two") })
		b.waitValue("app", "two")
		b.stays("two")
	})
}

// A re-created object stays while it is undecided which of two records is active, and follows the remaining one.
func TestI1_CreationWhileTwoStoragesHaveRecords(t *testing.T) {
	inOtherStorage(t, func(b *fixture, before, after cluster.Helm) {
		b.createdWhileContested(before, after, b.installed(before, oneValue, "one"))
	})
}

// The same where the locked record counts as the newest all the time: its writer's clock is ahead. It declares the
// re-created object, and the remaining record does not.
func TestI1_CreationWhileTheLockedRecordIsContested(t *testing.T) {
	inOtherStorage(t, func(b *fixture, before, after cluster.Helm) {
		chart := b.installed(before, oneValue, "one")
		b.Patch(recordsOf(before), "sh.helm.release.v1.app.v1", `{"metadata":{"labels":{"modifiedAt":"4102444800"}}}`)
		b.createdWhileContested(before, after, chart)
	})
}

// recordsOf returns the resource of Helm's records.
func recordsOf(h cluster.Helm) schema.GroupVersionResource {
	if h.Driver != "" {
		return kit.ConfigMaps
	}
	return kit.Secrets
}

// createdWhileContested makes the operator re-create an object of a locked release around the moment when Helm begins
// in the other storage, where the release does not declare it, and then removes the locked record.
func (b *fixture) createdWhileContested(before, after cluster.Helm, chart string) {
	b.Helper()
	creation := b.heldCreation()
	b.Helm(after, "upgrade", "--install", "app", chart, "--set", "value=gone")
	creation.Release()
	b.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordsInTwoStorages)
	b.waitValue("app", "one")
	b.stays("one")
	b.Delete(recordsOf(before), "sh.helm.release.v1.app.v1")
	b.WaitReady("app", 1)
	b.waitTakenBack()
}
