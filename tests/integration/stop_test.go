package integration

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A stop may arrive before the operator has installed its definition, and before it has seen the first HelmRelease.
func TestStop_WhileTheAPIServerDoesNotAnswerYet(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"customresourcedefinitions", "helmreleases"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			e := kit.New(t, kit.Shared)
			proxy := e.NewProxy()
			asked := make(chan struct{}, 1)
			defer proxy.Intercept(func(r *http.Request) cluster.Action {
				// The health of the API server is not known either.
				if r.URL.Path != "/version" && !slices.Contains(strings.Split(r.URL.Path, "/"), resource) {
					return cluster.Forward()
				}
				if r.URL.Path != "/version" || resource == "helmreleases" {
					select {
					case asked <- struct{}{}:
					default:
					}
				}
				return cluster.Drop()
			})()
			o := kit.StartOperator(t, proxy.RESTConfig(), e.Operator,
				func(o *operator.ControllerOptions) { o.SkipCRD = resource == "helmreleases" })
			select {
			case <-asked:
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			}
			o.Stop()
			check.Report(t, o.Err())
		})
	}
}
