// Package policy tests HelmReleasePolicies on a real API server, with real Helm and garbage collection: the existence
// of their HelmReleases over time.
package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{ControllerManager: true}) }

// fixture is kit.Fixture with additions for this suite.
type fixture struct{ *kit.Fixture }

func newFixture(t *testing.T, options ...func(*operator.ControllerOptions)) *fixture {
	t.Helper()
	t.Parallel()
	return &fixture{kit.StartBoth(t, options...)}
}

// notStarted returns a fixture without an operator.
func notStarted(t *testing.T) *fixture {
	t.Helper()
	e := kit.New(t, kit.Shared)
	return &fixture{&kit.Fixture{Env: e, Proxy: e.NewProxy()}}
}

// withClock has operators go by a clock.
func withClock(c clock.WithTicker) func(*operator.ControllerOptions) {
	return func(o *operator.ControllerOptions) { o.Clock = c }
}

// create creates a policy with a spec in YAML, in which APPS stands for the namespace of releases. The policy accepts
// enforcement with the operator's own rights: tests/tenancy tests rights.
func (f *fixture) create(name, spec string) *v1alpha1.HelmReleasePolicy {
	f.Helper()
	p, err := f.tryCreate(f.Operator, name, spec)
	check.NoError(f, err)
	return p
}

func (f *fixture) tryCreate(namespace, name, spec string) (*v1alpha1.HelmReleasePolicy, error) {
	f.Helper()
	content := map[string]any{}
	check.NoError(f, yaml.Unmarshal([]byte(strings.ReplaceAll(spec, "APPS", f.Apps)), &content))
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "helm.cattle.io/v1alpha1", "kind": "HelmReleasePolicy",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": content,
	}}
	content["acceptRecordsOfAnyone"] = true
	if labels, ok := content["labels"]; ok {
		delete(content, "labels")
		u.Object["metadata"].(map[string]any)["labels"] = labels
	}
	created, err := f.In(kit.HelmReleasePolicies, namespace).Create(f.Ctx, u, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return policyOf(f, created), nil
}

func policyOf(f *fixture, u *unstructured.Unstructured) *v1alpha1.HelmReleasePolicy {
	f.Helper()
	p := &v1alpha1.HelmReleasePolicy{}
	check.NoError(f, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, p))
	return p
}

func (f *fixture) policy(name string) *v1alpha1.HelmReleasePolicy {
	f.Helper()
	u, err := f.In(kit.HelmReleasePolicies, f.Operator).Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(f, err)
	return policyOf(f, u)
}

func (f *fixture) patchPolicy(name, patch string) {
	f.PatchIn(kit.HelmReleasePolicies, f.Operator, name, patch)
}

func (f *fixture) deletePolicy(name string) {
	f.Helper()
	f.DeleteIn(kit.HelmReleasePolicies, f.Operator, name)
}

// waitPolicy waits until Ready of a policy has a reason, and returns the policy.
func (f *fixture) waitPolicy(name, reason string) *v1alpha1.HelmReleasePolicy {
	f.Helper()
	var p *v1alpha1.HelmReleasePolicy
	f.Until(fmt.Sprintf("Ready of policy %s has reason %s", name, reason), func() (any, bool) {
		p = f.policy(name)
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		return p.Status, c != nil && c.Reason == reason && p.Status.ObservedGeneration == p.Generation
	})
	return p
}

// waitCounts waits until the counts of a policy are as wanted.
func (f *fixture) waitCounts(name string, want func(v1alpha1.PolicyCounts) bool) {
	f.Helper()
	f.Until("counts of policy "+name, func() (any, bool) {
		got := f.policy(name).Status.Releases
		return got, want(got)
	})
}

// helmReleases returns the HelmReleases of the test, in the order of their names.
func (f *fixture) helmReleases() (all []*v1alpha1.HelmRelease) {
	f.Helper()
	list, err := f.In(kit.HelmReleases, f.Operator).List(f.Ctx, metav1.ListOptions{})
	check.NoError(f, err)
	for i := range list.Items {
		hr := &v1alpha1.HelmRelease{}
		check.NoError(f, runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, hr))
		all = append(all, hr)
	}
	return all
}

// waitMade waits until there are HelmReleases for these releases of Apps, and no others; it returns them.
func (f *fixture) waitMade(names ...string) (all []*v1alpha1.HelmRelease) {
	f.Helper()
	for i := range names {
		names[i] = f.Apps + "." + names[i]
	}
	f.Until(fmt.Sprintf("the HelmReleases are %v", names), func() (any, bool) {
		var got []string
		all = f.helmReleases()
		for _, hr := range all {
			got = append(got, hr.Name)
		}
		return got, slices.Equal(got, names)
	})
	return all
}

// name is that of a policy's HelmRelease for a release in Apps.
func (f *fixture) name(release string) string { return f.Apps + "." + release }

// deploy writes a record for a release of one ConfigMap, as Helm does.
func (f *fixture) deploy(name string, labels map[string]string) {
	f.Helper()
	f.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "1"), Labels: labels})
}

// uninstall deletes the record.
func (f *fixture) uninstall(name string) {
	f.Helper()
	f.Delete(kit.Secrets, "sh.helm.release.v1."+name+".v1")
}

// settled waits until nothing has been written for two seconds: policies do not fight with each other, nor with
// defaults of the API server.
func (f *fixture) settled() {
	f.Helper()
	f.Until("nothing is written any more", func() (any, bool) {
		writes := slices.DeleteFunc(f.Proxy.Writes(), func(r cluster.Request) bool { return r.Resource() == "leases" })
		if len(writes) == 0 {
			return "no write at all", true
		}
		last := writes[len(writes)-1]
		return last, time.Since(last.Time) > 2*time.Second
	})
}

// waitLocked waits until there is a HelmRelease of a name and its release is locked.
func (f *fixture) waitLocked(name string) {
	f.Helper()
	f.WaitFieldIn(kit.HelmReleases, f.Operator, name, "metadata.name", name)
	f.WaitReady(name, 1)
}
