package ha

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func shard(selector string) func(*operator.ControllerOptions) {
	return func(o *operator.ControllerOptions) { o.ShardSelector = selector }
}

const (
	shardA    = "shard=a"
	shardRest = "shard notin (a)"
)

func inShard(name string) func(*v1alpha1.HelmRelease) {
	return func(hr *v1alpha1.HelmRelease) { hr.Labels = map[string]string{"shard": name} }
}

// waitShard waits until the operator of a shard reports that it manages a HelmRelease.
func waitShard(e *kit.Env, name, selector string) {
	e.Helper()
	e.Until("HelmRelease "+name+" is looked after by shard "+selector, func() (any, bool) {
		got := e.HelmRelease(name).Status.Shard
		return got, got == selector
	})
}

// wroteTo reports whether an object was written to through a proxy since its Reset.
func wroteTo(r *replica, name string) bool {
	for _, w := range kit.ObjectWrites(r.proxy) {
		if strings.HasSuffix(w.Path, "/"+name) || (w.Method == http.MethodPost &&
			strings.Contains(string(w.Body), `"name":"`+name+`"`)) {
			return true
		}
	}
	return false
}

// Two operators of one name and namespace, each with two replicas: each leads in its shard, and reconciles nothing
// else.
func TestShards_EachLooksAfterItsOwn(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	a, standby := startReplica(e, elected(longLease), shard(shardA)), startReplica(e, elected(longLease), shard(shardA))
	rest := startReplica(e, elected(longLease), shard(shardRest))
	service := "---\napiVersion: v1\nkind: Service\nmetadata: {name: other}\nspec: {ports: [{port: 80}]}\n"
	e.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("app", "declared")})
	e.Forge(kit.ForgedRecord{Name: "other", Manifest: kit.ConfigMap("other", "declared") + service})
	e.CreateHelmRelease("app", inShard("a"))
	e.CreateHelmRelease("other")
	e.WaitReady("app", 1)
	e.WaitReady("other", 1)
	waitShard(e, "other", shardRest)
	for range 3 {
		reverts(e, "app", "tampered")
		reverts(e, "other", "tampered")
	}
	check.That(t, !wroteTo(rest, "app") && wroteTo(rest, "other"), "the rest has not written to its own object alone")
	check.That(t, !wroteTo(a, "other") && !wroteTo(standby, "other") && wroteTo(a, "app") != wroteTo(standby, "app"),
		"not exactly one replica of shard a has written, to its own object alone")
	for _, r := range []*replica{a, standby} {
		n := r.proxy.Watches(cluster.ForResource("services"))
		check.That(t, n == 0, "shard a has %d watches of a kind that its releases do not have", n)
	}
	leases, err := e.Kube.CoordinationV1().Leases(e.Operator).List(e.Ctx, metav1.ListOptions{})
	check.NoError(t, err)
	check.That(t, len(leases.Items) == 2, "%d leases, want one for each shard", len(leases.Items))
}

// While a HelmRelease moves from one shard to another its release stays locked, and Helm's writes in between are not
// undone.
func TestShards_MoveWithoutAGap(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	a, b := startReplica(e, elected(longLease), shard(shardA)), startReplica(e, elected(longLease), shard(shardRest))
	chart := e.Chart("app",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {key: \"{{ .Release.Revision }}\"}\n")
	e.Helm(kit.Shared.Helm3(), "install", "app", chart)
	e.Lock("app", inShard("a"))
	waitShard(e, "app", shardA)

	// The first does not observe the move and continues: both manage the release for a while, one by an old record.
	release := a.proxy.HoldWatch(cluster.ForResource("helmreleases"))
	records := a.proxy.HoldWatch(cluster.ForResource("secrets"))
	history := e.Record(kit.ConfigMaps)
	e.PatchHelmRelease("app", `{"metadata":{"labels":{"shard":"b"}}}`)
	waitShard(e, "app", shardRest)
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered while both manage it"}}`)
	e.WaitField(kit.ConfigMaps, "app", "data.key", "1")
	e.Helm(kit.Shared.Helm3(), "upgrade", "app", chart)
	e.WaitReady("app", 2)
	e.WaitLog(a.Operator, "Helm has begun to work; leaving its objects alone")
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered while one has an old record"}}`)
	e.WaitField(kit.ConfigMaps, "app", "data.key", "2")
	release()
	records()
	e.WaitLog(a.Operator, "no longer managing release "+e.Apps+"/app")
	waitShard(e, "app", shardRest)
	a.proxy.Reset()
	b.proxy.Reset()
	for range 3 {
		e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered after the move"}}`)
		e.WaitField(kit.ConfigMaps, "app", "data.key", "2")
	}
	check.That(t, !wroteTo(a, "app") && wroteTo(b, "app"), "it is not the second alone that manages the release")
	history.CatchUp()
	values := history.Past("app", "data.key")
	for i, value := range values {
		if value == "1" && i > 0 && strings.Contains(strings.Join(values[:i], " "), "2") {
			t.Errorf("the upgrade was undone: %q", values)
		}
	}

	// And back.
	e.PatchHelmRelease("app", `{"metadata":{"labels":{"shard":"a"}}}`)
	waitShard(e, "app", shardA)
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered after the way back"}}`)
	e.WaitField(kit.ConfigMaps, "app", "data.key", "2")
}

// Two HelmReleases for one release are a conflict, in whichever shards they are.
func TestShards_OneReleaseIsLockedOnce(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	startReplica(e, shard(shardA))
	b := startReplica(e, shard(shardRest))
	e.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("app", "declared")})
	e.Lock("app", inShard("a"))
	e.CreateHelmRelease("second", func(hr *v1alpha1.HelmRelease) {
		hr.Name, hr.Spec.Release.Name = "z-second", "app"
	})
	e.WaitReason("z-second", v1alpha1.ConditionReady, v1alpha1.ReasonConflict)
	reverts(e, "app", "tampered")
	check.That(t, !wroteTo(b, "app"), "both wrote")
	e.DeleteHelmRelease("app")
	e.WaitReady("z-second", 1)
	reverts(e, "app", "tampered again")
}

func TestShards_SelectorIsCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	err := <-kit.RunOperator(t, e.OperatorConfig(), e.Operator, shard("shard in a"))
	check.That(t, err != nil && strings.Contains(err.Error(), `shard selector "shard in a"`), "the operator ended with %v",
		err)
}
