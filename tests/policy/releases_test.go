package policy

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A new release is locked; an uninstalled one no longer is; one with its history kept stays locked, as Helm can roll
// it back.
func TestPolicy_FollowsReleases(t *testing.T) {
	f := newFixture(t)
	helm := kit.Shared.Helm3()
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.waitPolicy("all", v1alpha1.ReasonApplied)
	chart := f.Chart("shop", kit.ConfigMap("shop", "1"))
	f.Helm(helm, "install", "shop", chart)
	hr := f.waitMade("shop")[0]
	owner := metav1.GetControllerOf(hr)
	check.That(t, owner != nil && owner.Name == "all" && len(hr.Finalizers) == 0, "owned by %v, finalizers %v", owner,
		hr.Finalizers)
	f.waitLocked(f.name("shop"))
	f.Reverts("shop", "1")
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.Matched == 1 && c.Made == 1 && c.Locked == 1 })
	f.waitPolicy("all", v1alpha1.ReasonApplied)
	f.settled()

	f.Helm(helm, "uninstall", "shop", "--keep-history")
	f.WaitState(f.name("shop"), v1alpha1.StateUninstalled)
	f.Helm(helm, "rollback", "shop", "1")
	again := f.WaitReady(f.name("shop"), 2)
	check.That(t, again.UID == hr.UID, "the HelmRelease is another one after an uninstallation that kept the history")
	f.Helm(helm, "uninstall", "shop")
	f.waitMade()
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.Matched == 0 && c.Made == 0 })

	f.Helm(helm, "install", "shop", chart)
	f.waitMade("shop")
	f.waitLocked(f.name("shop"))
}

// Labels of releases decide, also when they change, and when their policy is created last.
func TestPolicy_FollowsLabelsOfReleases(t *testing.T) {
	f := newFixture(t)
	web, data := map[string]string{"team": "web"}, map[string]string{"team": "data"}
	f.deploy("one", web)
	f.deploy("two", data)
	f.deploy("three", nil)
	f.create("web", `{match: {namespaces: [APPS], releaseSelector: {matchLabels: {team: web}}}}`)
	f.waitMade("one")
	f.deploy("two", web)
	f.waitMade("one", "two")
	f.deploy("one", map[string]string{"team": ""})
	f.waitMade("two")
	// Another label key is read from the known records.
	f.deploy("three", map[string]string{"tier": "front"})
	f.create("front", `{match: {namespaces: [APPS], releaseSelector: {matchExpressions: [{key: tier, operator: Exists}]}}}`)
	f.waitMade("three", "two")
	f.settled()
}

// After a restart the labels are known before anything is deleted.
func TestPolicy_ARestartKeepsWhatLabelsSelect(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", map[string]string{"team": "web"})
	f.create("web", `{match: {namespaces: [APPS], releaseSelector: {matchLabels: {team: web}}}}`)
	before := f.waitMade("one")[0]
	f.Running.Stop()
	f.Running = kit.StartWithPolicies(t, f.Proxy.RESTConfig(), f.Operator)
	f.deploy("two", map[string]string{"team": "web"})
	after := f.waitMade("one", "two")[0]
	check.That(t, after.UID == before.UID, "the HelmRelease was deleted and made again")
}

func TestPolicy_FollowsLabelsOfNamespaces(t *testing.T) {
	f := newFixture(t)
	label := func(value string) {
		_, err := f.Kube.CoreV1().Namespaces().Patch(f.Ctx, f.Apps, "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"team-of":"`+value+`"}}}`), metav1.PatchOptions{})
		check.NoError(t, err)
	}
	f.deploy("one", nil)
	f.create("labelled", `{match: {namespaceSelector: {matchLabels: {team-of: APPS}}}}`)
	f.waitPolicy("labelled", v1alpha1.ReasonApplied)
	f.waitMade()
	label(f.Apps)
	f.waitMade("one")
	f.settled()
	label("others")
	f.waitMade()
}

// Deleting a policy unlocks by garbage collection, and changes nothing else.
func TestPolicy_DeletionUnlocks(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.WaitReady(f.waitMade("one")[0].Name, 1)
	before := f.Versions(f.Apps, kit.ConfigMaps, kit.Secrets)
	f.deletePolicy("all")
	f.waitMade()
	f.ExpectVersions(before, f.Apps, kit.ConfigMaps, kit.Secrets)
	f.Patch(kit.ConfigMaps, "one", `{"data":{"key":"tampered"}}`)
	f.Quiet(f.Proxy, 1e9)
	got := kit.Field(f.Get(kit.ConfigMaps, "one"), "data.key")
	check.That(t, got == "tampered", "the release is still locked: %v", got)
}

// A new policy of the same name takes over the HelmReleases not yet deleted by the garbage collector.
func TestPolicy_ReplacedUnderTheSameName(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.waitMade("one")
	f.deletePolicy("all")
	second := f.create("all", `{match: {namespaces: [APPS]}}`)
	f.Until("the HelmRelease is the second policy's", func() (any, bool) {
		all := f.helmReleases()
		if len(all) != 1 {
			return all, false
		}
		owner := metav1.GetControllerOf(all[0])
		return owner, owner != nil && owner.UID == second.UID
	})
	f.waitPolicy("all", v1alpha1.ReasonApplied)
	f.waitLocked(f.name("one"))
}

// An edit of a policy's HelmRelease is reverted; suspend is not the policy's, unless its template sets it.
func TestPolicy_PutsEditsBack(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}, template: {metadata: {labels: {tier: a}}, spec: {ignore: [{paths: [/data/x]}]}}}`)
	name := f.waitMade("one")[0].Name
	f.WaitReady(name, 1)
	for _, patch := range []string{
		`{"spec":{"mode":"Detect"}}`, `{"spec":{"ignore":null}}`, `{"spec":{"scope":"Strict"}}`,
		`{"metadata":{"labels":{"tier":"b"}}}`, `{"metadata":{"labels":{"helmreleases.cattle.io/policy":null}}}`,
	} {
		edited := f.PatchIn(kit.HelmReleases, f.Operator, name, patch)
		f.Until("put back after "+patch, func() (any, bool) {
			hr := f.HelmRelease(name)
			return hr, hr.ResourceVersion != edited.GetResourceVersion() && hr.Spec.Mode == v1alpha1.ModeEnforce &&
				len(hr.Spec.Ignore) == 1 && hr.Spec.Scope == v1alpha1.ScopeDeclared && hr.Labels["tier"] == "a" &&
				hr.Labels[v1alpha1.PolicyLabel] == "all"
		})
	}
	f.PatchHelmRelease(name, `{"spec":{"suspend":true},"metadata":{"labels":{"mine":"x"}}}`)
	f.WaitReason(name, v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	f.patchPolicy("all", `{"spec":{"template":{"metadata":{"labels":{"tier":null,"level":"c"}}}}}`)
	f.Until("the template's labels", func() (any, bool) {
		hr := f.HelmRelease(name)
		_, old := hr.Labels["tier"]
		return hr.Labels, hr.Labels["level"] == "c" && !old
	})
	hr := f.HelmRelease(name)
	check.That(t, hr.Spec.Suspend && hr.Labels["mine"] == "x", "what the policy does not own was changed: %+v", hr)
	f.waitPolicy("all", v1alpha1.ReasonApplied)
	f.settled()
	f.PatchHelmRelease(name, `{"spec":{"suspend":false}}`)
	f.WaitReady(name, 1)

	f.patchPolicy("all", `{"spec":{"template":{"spec":{"suspend":true}}}}`)
	f.WaitReason(name, v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	f.patchPolicy("all", `{"spec":{"template":{"spec":{"suspend":null}}}}`)
	f.WaitReady(name, 1)
}

// The API server refuses policies for a whole cluster by accident, and templates of invalid HelmReleases.
func TestPolicy_RefusesMistakes(t *testing.T) {
	f := newFixture(t)
	for spec, want := range map[string]string{
		`{match: {}}`:                                                                                    "give namespaces",
		`{match: {namespaces: []}}`:                                                                      "at least 1 item",
		`{match: {namespaceSelector: {}}}`:                                                               "would select every namespace",
		`{match: {releaseSelector: {matchLabels: {}}}}`:                                                  "would select every release",
		`{match: {namespaces: [a]}, exclude: [{}]}`:                                                      "give namespaces",
		`{match: {namespaces: [A]}}`:                                                                     "should match",
		`{match: {namespaces: [a]}, maxReleases: 0}`:                                                     "greater than or equal to 1",
		`{match: {namespaces: [a]}, rollout: {interval: 1s}}`:                                            "a minute or more",
		`{match: {namespaces: [a]}, rollout: {interval: tomorrow}}`:                                      "should match",
		`{match: {namespaces: [a]}, rollout: {drifted: Maybe}}`:                                          `supported values: "Hold", "Revert"`,
		`{match: {namespaces: [a]}, rollout: {holdFor: 59s}}`:                                            "holdFor must be between a minute and 8760h",
		`{match: {namespaces: [a]}, rollout: {holdFor: 9000h}}`:                                          "holdFor must be between a minute and 8760h",
		`{match: {namespaces: [a]}, rollout: {holdFor: 2d}}`:                                             "should match",
		`{match: {namespaces: [a]}, rollout: {drifted: Revert, holdFor: 1h}}`:                            "holdFor is for drifted: Hold",
		`{match: {namespaces: [a]}, rollout: {batchSize: -1}}`:                                           "greater than or equal to 1",
		`{match: {namespaces: [a]}, template: {spec: {mode: Warn}}}`:                                     "supported values",
		`{match: {namespaces: [a]}, template: {spec: {serviceAccountName: "other:admin"}}}`:              "should match",
		`{match: {namespaces: [a]}, template: {spec: {mode: Detect, guard: Deny}}}`:                      "takes spec.mode Enforce",
		`{match: {namespaces: [a]}, template: {spec: {ignore: [{}]}}}`:                                   "needs paths, managers or deletion",
		`{match: {namespaces: [a]}, template: {metadata: {labels: {helmreleases.cattle.io/policy: x}}}}`: "set by the operator",
	} {
		_, err := f.tryCreate(f.Operator, "bad", spec)
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v, want %s", spec, err, want)
	}
	_, err := f.tryCreate(f.Operator, strings.Repeat("a", 64), `{match: {namespaces: [a]}}`)
	check.That(t, err != nil && strings.Contains(err.Error(), "at most 63 characters"), "a long name: %v", err)
	// Errors that only the operator can detect are in the condition, and nothing is locked.
	f.deploy("one", nil)
	f.create("selector", `{match: {namespaces: [APPS], releaseSelector: {matchExpressions: [{key: a, operator: Near}]}}}`)
	f.waitPolicy("selector", v1alpha1.ReasonInvalidPolicy)
	f.waitMade()
}

// A policy in another namespace than the operator's does nothing.
func TestPolicy_CountsInTheOperatorsNamespaceOnly(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	_, err := f.tryCreate(f.Apps, "all", `{match: {namespaces: [APPS]}}`)
	check.NoError(t, err)
	f.create("other", `{match: {namespaces: [none]}}`)
	f.waitPolicy("other", v1alpha1.ReasonApplied)
	f.waitMade()
	f.settled()
	u, err := f.In(kit.HelmReleasePolicies, f.Apps).Get(f.Ctx, "all", metav1.GetOptions{})
	check.NoError(t, err)
	p := policyOf(f, u)
	check.That(t, len(p.Status.Conditions) == 0 && len(p.Annotations) == 0, "it was handled: %+v", p)
}

// names returns the names of HelmReleases without the namespace of the release, sorted.
func names(all []*v1alpha1.HelmRelease) (names []string) {
	for _, hr := range all {
		names = append(names, hr.Spec.Release.Name)
	}
	slices.Sort(names)
	return names
}
