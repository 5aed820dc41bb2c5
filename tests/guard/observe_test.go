package guard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// observed is a locked release whose guard only observes.
func observed(t *testing.T) *fixture {
	f := newFixture(t)
	f.guarded(kit.Shared.Helm4(), "shop", shop, func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardObserve })
	f.Until("the API server asks", func() (any, bool) {
		_, said := f.as("first", "patch", "configmap", "settings", "-p", changed)
		check.Equal(t, said, "", "the guard that only observes says")
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		r, found := f.newest()
		return r, found && r.User == "first"
	})
	return f
}

// as runs kubectl as a user with all rights.
func (f *fixture) as(user string, args ...string) (out, complaint string) {
	f.Helper()
	return f.kubectl(append([]string{"--as", user, "--as-group", "system:masters"}, args...)...)
}

func (f *fixture) newest() (v1alpha1.DriftRecord, bool) {
	recent := f.HelmRelease("shop").Status.RecentDrift
	if len(recent) == 0 {
		return v1alpha1.DriftRecord{}, false
	}
	return recent[0], true
}

// names waits until the newest drift is of a user.
func (f *fixture) names(what, user string) {
	f.Helper()
	f.Until(what+" is of "+user, func() (any, bool) {
		r, found := f.newest()
		return r, found && r.User == user && len(r.PossibleUsers) == 0
	})
}

// A guard that only observes refuses nothing, and the revert of each change names its user.
func TestI13_ObserveNamesTheUserOfEachRevert(t *testing.T) {
	t.Parallel()
	f := observed(t)
	for what, args := range map[string][]string{
		"a change":        {"patch", "configmap", "settings", "-p", changed},
		"a scale":         {"scale", "deployment", "web", "--replicas=7"},
		"a deletion":      {"delete", "configmap", "settings"},
		"a removed label": {"label", "deployment", "web", "app.kubernetes.io/managed-by-"},
		"a removed key":   {"patch", "configmap", "settings", "-p", `{"data":{"other":null}}`},
		"another manager": {"patch", "configmap", "settings", "--field-manager=helm", "-p", changed},
	} {
		user := strings.ReplaceAll(what, " ", "-")
		f.as(user, args...)
		f.names(what, user)
	}
	f.Until("an event names the user", func() (any, bool) {
		texts := f.eventTexts()
		return texts, slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(text, "spec.replicas changed by kubectl (Update of scale") && strings.Contains(text, ") as a-scale")
		})
	})
}

// The Pod that used the token of a ServiceAccount is in the extra fields of its user.
func TestI13_ObserveNamesThePodOfAServiceAccount(t *testing.T) {
	t.Parallel()
	f := observed(t)
	config := f.Cluster.RESTConfig()
	const account = "system:serviceaccount:ci:deployer"
	config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:masters"},
		Extra: map[string][]string{"authentication.kubernetes.io/pod-name": {"deployer-0"}}}
	client, err := dynamic.NewForConfig(config)
	check.NoError(t, err)
	_, err = client.Resource(kit.ConfigMaps).Namespace(f.Apps).Patch(f.Ctx, "settings", types.MergePatchType,
		[]byte(changed), metav1.PatchOptions{})
	check.NoError(t, err)
	f.names("the change", account+" (Pod deployer-0)")
	r, _ := f.newest()
	check.That(t, slices.Equal(r.UserGroups, []string{"system:masters"}), "the groups are %q", r.UserGroups)
}

// Two users change the same field before one revert: either may be its author. A change that the guard did not see has
// no user.
func TestI13_ObserveNamesNobodyWithoutProof(t *testing.T) {
	t.Parallel()
	f := observed(t)
	hold := f.Proxy.HoldRequests(cluster.ForPath("/configmaps/settings", http.MethodPatch))
	f.as("alice", "patch", "configmap", "settings", "-p", `{"data":{"key":"of alice"}}`)
	f.WaitHeld(hold, 1)
	f.as("bob", "patch", "configmap", "settings", "-p", `{"data":{"key":"of bob"}}`)
	hold.Release()
	f.Until("the change is of alice or bob", func() (any, bool) {
		r, found := f.newest()
		return r, found && r.User == "" && slices.Equal(r.PossibleUsers, []string{"alice", "bob"})
	})

	f.front.to("")
	f.as("eve", "patch", "configmap", "settings", "-p", changed)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	f.Until("the change is of nobody", func() (any, bool) {
		r, found := f.newest()
		return r, found && r.User == "" && len(r.PossibleUsers) == 0
	})
}

// eventTexts returns the messages of the events about the HelmRelease.
func (f *fixture) eventTexts() (texts []string) {
	f.Helper()
	list, err := f.Kube.CoreV1().Events(f.Operator).List(f.Ctx, metav1.ListOptions{})
	check.NoError(f, err)
	for i := range list.Items {
		texts = append(texts, fmt.Sprint(list.Items[i].Message))
	}
	return texts
}
