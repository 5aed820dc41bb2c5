// Package order tests the promises "never revert Helm" (I1) and "as Helm left it" (I4) against a real API server: the
// operator uses a proxy that holds requests for the test, Helm and tamperers connect directly.
package order

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{}) }

// fixture is kit.Fixture with additions for this suite.
type fixture struct{ *kit.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, "")
}

// newFixtureOf is newFixture for an operator that reads records in some storages. Tests run beside others: each has an
// operator, a proxy and namespaces of its own.
func newFixtureOf(t *testing.T, storages string) *fixture {
	t.Helper()
	t.Parallel()
	return &fixture{kit.Start(t, func(o *operator.ControllerOptions) { o.SkipCRD, o.ReleaseStorage = true, storages })}
}

// inConfigMaps returns Helm with its records in ConfigMaps.
func inConfigMaps(h cluster.Helm) cluster.Helm {
	h.Driver = release.ConfigMaps.String()
	return h
}

// isRecordWatch matches the watches of records.
func isRecordWatch(r *http.Request) bool {
	return strings.Contains(r.URL.Query().Get("labelSelector"), "owner in")
}

// installed installs the release app with a value and locks it.
func (b *fixture) installed(h cluster.Helm, template, value string) (chart string) {
	b.Helper()
	chart = b.Chart("app", template)
	b.Helm(h, "install", "app", chart, "--set", "value="+value)
	b.Lock("app")
	return chart
}

// isCheck matches the requests of the order proof: lists of the release's records, or a fence. It excludes lists of
// ConfigMaps: the operator also makes those for every release not found, to name its storage.
func isCheck(r *http.Request) bool {
	return isFence(r) || !cluster.IsWatch(r) && r.Method == http.MethodGet &&
		cluster.ForResource("secrets")(r) && strings.Contains(r.URL.Query().Get("labelSelector"), "name=app")
}

// isRevert matches the operator's writes to a resource: real ones, not dry runs.
func isRevert(resource, method string) cluster.Match {
	return cluster.ForResource(resource, method).And(cluster.IsReal)
}

// heldCreation deletes ConfigMap app, and holds the creations of ConfigMaps from then on. The first one has arrived.
func (b *fixture) heldCreation() *cluster.Hold {
	b.Helper()
	b.Proxy.Reset()
	hold := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPost))
	b.Delete(kit.ConfigMaps, "app")
	b.WaitHeld(hold, 1)
	return hold
}

// lists returns how many lists of the records of the release were answered.
func (b *fixture) lists() int {
	n := 0
	for _, r := range b.Proxy.Requests() {
		if r.Method == http.MethodGet && r.Resource() == "secrets" && r.Code == http.StatusOK &&
			strings.Contains(r.Query.Get("labelSelector"), "name=app") && r.Query.Get("watch") == "" {
			n++
		}
	}
	return n
}

// waitLists waits until the records were listed n times since the proxy's Reset. By the next list, the operator has
// acted on the previous one.
func (b *fixture) waitLists(n int) {
	b.Helper()
	b.Until(fmt.Sprintf("the records are listed %d times", n), func() (any, bool) {
		got := b.lists()
		return fmt.Sprintf("%d lists; writes: %v", got, b.writes()), got >= n
	})
}

// writes returns the operator's writes to the objects of the releases, successful or not.
func (b *fixture) writes() []cluster.Request {
	return slices.DeleteFunc(b.Proxy.Writes(), func(r cluster.Request) bool {
		return !strings.HasPrefix(r.UserAgent, "helm-locker/") || !strings.Contains(r.Path, "/namespaces/"+b.Apps+"/") ||
			r.Resource() == "events" || r.Query.Get("dryRun") != ""
	})
}

// landed returns the applied writes, and the unanswered ones, which may still be applied.
func (b *fixture) landed() []cluster.Request {
	return slices.DeleteFunc(b.writes(), func(r cluster.Request) bool { return r.Code >= http.StatusBadRequest })
}

// wantNoWrites fails the test if the operator changed anything of the releases.
func (b *fixture) wantNoWrites() {
	b.Helper()
	if landed := b.landed(); len(landed) > 0 {
		b.Errorf("the operator wrote: %v", landed)
	}
}

// waitValue waits until a ConfigMap has a value.
func (b *fixture) waitValue(name, value string) {
	b.Helper()
	b.Eventually("ConfigMap "+name+" is "+value, func() error { return b.hasValue(name, value) })
}

// hasValue returns an error unless a ConfigMap has a value; the empty one stands for its absence.
func (b *fixture) hasValue(name, value string) error {
	if got, _ := kit.Field(b.Get(kit.ConfigMaps, name), valuePath).(string); got != value {
		return fmt.Errorf("ConfigMap %s has value %q, want %q", name, got, value)
	}
	return nil
}

// stays measures that ConfigMap app keeps a value.
func (b *fixture) stays(value string) {
	b.Helper()
	b.Throughout(quiet, "ConfigMap app keeps its value", func() error { return b.hasValue("app", value) })
}

// wantValue fails the test if a ConfigMap has not a value.
func (b *fixture) wantValue(name, value string) {
	b.Helper()
	check.Report(b, b.hasValue(name, value))
}
