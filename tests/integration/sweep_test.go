package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Releases that are locked within a short time share lists, and all their differences are found.
func TestI5_ManyLocksAtOnceShareLists(t *testing.T) {
	e := kit.New(t, kit.Shared)
	proxy := e.NewProxy()
	const releases, objects = 24, 6
	for r := range releases {
		var manifest strings.Builder
		for o := range objects {
			manifest.WriteString(kit.ConfigMap(fmt.Sprintf("r%d-o%d", r, o), "declared"))
		}
		name := fmt.Sprintf("r%d", r)
		e.Forge(kit.ForgedRecord{Name: name, Manifest: manifest.String()})
		for o := range objects {
			if r == releases-1 && o == 0 {
				continue // the last release lacks one object
			}
			createManaged(e, fmt.Sprintf("r%d-o%d", r, o), name, "declared")
			if r == releases-1 && o == 1 {
				e.Patch(kit.ConfigMaps, fmt.Sprintf("r%d-o%d", r, o), `{"data":{"key":"tampered"}}`)
			}
		}
	}
	kit.StartOperator(t, proxy.RESTConfig(), e.Operator)
	fence := kit.Fence{}
	fence.Lock(e) // ConfigMaps are watched by now: what exists is not delivered any more
	proxy.Reset()
	held := proxy.HoldRequests(func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/secrets/sh.helm.release.v1.r")
	})
	for r := range releases {
		e.CreateHelmRelease(fmt.Sprintf("r%d", r))
	}
	// All but those whose records are being read wait behind them.
	check.NoError(t, held.Wait(e.Ctx, 4))
	held.Release()
	for r := range releases {
		e.WaitReady(fmt.Sprintf("r%d", r), 1)
	}
	last := fmt.Sprintf("r%d", releases-1)
	e.WaitField(kit.ConfigMaps, last+"-o0", "data.key", "declared")
	e.WaitField(kit.ConfigMaps, last+"-o1", "data.key", "declared")
	gets := 0
	for _, r := range proxy.Requests() {
		if r.Method == http.MethodGet && r.Resource() == "configmaps" && strings.Contains(r.Path, "/configmaps/") {
			gets++
		}
	}
	check.That(t, gets <= releases*objects/2, "%d objects were looked at one by one, of %d: the locks did not share lists",
		gets, releases*objects)
}
