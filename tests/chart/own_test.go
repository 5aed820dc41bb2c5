package chart

import (
	"io"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// An operator without its own base permissions cannot write a condition. Its log and its readiness probe name the
// missing permission.
func TestMissingOwnPermissionIsToldByLogAndProbe(t *testing.T) {
	e := newEnv(t)
	user := "hardly-anybody-" + e.Operator
	e.Allow(e.Operator, "hardly-anything", kit.User(user), rbacv1.PolicyRule{APIGroups: []string{"helm.cattle.io"},
		Resources: []string{"helmreleases"}, Verbs: []string{"list", "watch"}})
	config, err := kit.Shared.UserConfig(user, cluster.OperatorsGroup)
	check.NoError(t, err)
	address, err := process.FreeAddress()
	check.NoError(t, err)
	op := kit.StartOperator(t, config, e.Operator, func(o *operator.ControllerOptions) {
		o.SkipCRD, o.LeaderElection, o.HealthAddress = true, true, address
	})
	for what, said := range map[string]func() string{
		`cannot get resource "leases" in API group "coordination.k8s.io"`: func() string {
			return strings.ReplaceAll(op.Log(), `\"`, `"`)
		},
		`cannot list resource "secrets" in API group ""`: func() string {
			return body("http://" + address + "/readyz")
		},
	} {
		e.Until("it says: "+what, func() (any, bool) {
			text := said()
			return text, strings.Contains(text, what)
		})
	}
	n := strings.Count(op.Log(), "cannot read the lease")
	check.That(t, n == 1, "it says so %d times", n)
}

func body(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return response.Status + " " + string(text)
}
