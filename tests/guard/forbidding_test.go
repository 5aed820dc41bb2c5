package guard

import (
	"net/http"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const hardened = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1", securityContext: {allowPrivilegeEscalation: false}}]}
`

// In an object with drift, a request adds undeclared fields. It is refused if the API server would refuse to restore
// the declared fields beside them.
func TestI13_AnAdditionThatForbidsTheDeclaredValueIsRefused(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		f := newFixture(t)
		f.guarded(h, "shop", hardened, func(hr *v1alpha1.HelmRelease) {
			hr.Spec.GuardExempt = []v1alpha1.GuardSubject{{Kind: v1alpha1.GuardSubjectUser, Name: "alice"}}
		})
		f.inForce(kit.Deployments, "web")
		reverts := f.Proxy.HoldRequests(func(r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/deployments/web") &&
				r.URL.Query().Get("dryRun") == ""
		})
		patch := func(context string) []string {
			return []string{"patch", "deployment", "web", "-p",
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","securityContext":` + context + `}]}}}}`}
		}
		f.passes(append(patch(`{"allowPrivilegeEscalation":true}`), "--as", "alice", "--as-group", "system:masters")...)
		f.WaitHeld(reverts, 1)
		f.refused(kit.Deployments, "web", "spec.template.spec.containers[0].securityContext.privileged was refused",
			patch(`{"privileged":true,"runAsUser":1000}`)...)
		f.passes(patch(`{"runAsUser":1000}`)...)
		f.passes("label", "deployment", "web", "team=shop")
		reverts.Release()
		f.WaitReady("shop", 0)
		f.Until("the declared value is back", func() (any, bool) {
			is, _ := f.kubectl("get", "deployment", "web", "-o",
				"jsonpath={.spec.template.spec.containers[0].securityContext.allowPrivilegeEscalation}")
			return is, is == "false"
		})
		f.passes(patch(`{"runAsGroup":1000}`)...) // no drift, so nothing is asked
	})
}
