package chart

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Two shards are two releases of the chart in one namespace, with the least profile: both lead, each by a lease of
// its own.
func TestShardsShareANamespace(t *testing.T) {
	e := newEnv(t)
	for _, shard := range []string{"a", "b"} {
		args := []string{"install", "locker-" + shard, operatorChart, "--namespace", e.Operator, "--set",
			"shardSelector=shard=" + shard, "--set", "rbac.profile=scoped", "--values", valuesFile(t, freePorts(t), "")}
		_, err := kit.Shared.Helm4().Run(t.Context(), args...)
		check.NoError(t, err)
		startDeployment(e, kit.Shared, "locker-"+shard)
		startDeployment(e, kit.Shared, "locker-"+shard+"-policies")
	}
	e.Eventually("both lead", func() error {
		leases, err := e.Kube.CoordinationV1().Leases(e.Operator).List(e.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(leases.Items) != 4 { // each shard has one for its policies
			return fmt.Errorf("there are %d leases", len(leases.Items))
		}
		return nil
	})
	for _, shard := range []string{"a", "b"} {
		for _, account := range []string{"locker-" + shard, "locker-" + shard + "-policies"} {
			expectPermitted(e, account, 0)
		}
	}
}
