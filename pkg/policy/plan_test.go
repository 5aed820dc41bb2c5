package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestPlans(t *testing.T) {
	every := newPolicy("every", "*")
	made := func(of ...string) []*v1alpha1.HelmRelease {
		in := inputOf(every, of...)
		return carriedOut(in, Make(in))
	}
	for name, tc := range map[string]struct {
		in   Input
		want string
	}{
		"a HelmRelease for each release": {
			Input{Releases: releases("apps/shop", "kitchen/bakery")},
			"every Create apps/shop; every Create kitchen/bakery"},
		"nothing when nothing differs": {Input{Releases: releases("apps/shop"), HelmReleases: made("apps/shop")}, ""},
		"gone with the release":        {Input{HelmReleases: made("apps/shop")}, "every Delete apps/shop"},
		"written by hand, before": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{handWritten("mine", "apps/shop")}},
			"every HandWritten apps/shop mine"},
		"written by hand, later": {
			Input{Releases: releases("apps/shop"), HelmReleases: append(made("apps/shop"), handWritten("mine", "apps/shop"))},
			"every HandWritten apps/shop mine; every Delete apps/shop"},
		"claimed by another controller": {
			Input{Releases: releases("apps/shop"), Controller: "helm-locker", HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) {
					metav1.SetMetaDataAnnotation(&hr.ObjectMeta, v1alpha1.ManagedByAnnotation, "other")
				})}},
			"every HandWritten apps/shop apps.shop"},
		"without its ownerReference it is the user's": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.OwnerReferences = nil })}},
			"every HandWritten apps/shop apps.shop"},
		"the name is taken": {
			Input{Releases: releases("apps/shop"),
				HelmReleases: []*v1alpha1.HelmRelease{handWritten("apps.shop", "kitchen/bakery")}},
			"every NameTaken apps/shop apps.shop"},
		"one that is being deleted is waited for": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.DeletionTimestamp = &metav1.Time{Time: noon} })}},
			"every Waiting apps/shop"},
		"an edit is put back": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })}},
			"every Update apps/shop"},
		"but for suspend": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.Spec.Suspend = true })}},
			""},
		"and labels of others": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.Labels["cost-center"] = "7" })}},
			""},
		"a policy of the same name that is another one is taken over from": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.OwnerReferences[0].UID = "before" })}},
			"every Update apps/shop"},
		"what a policy made that is gone is left to the garbage collector": {
			Input{HelmReleases: []*v1alpha1.HelmRelease{
				with(made("apps/shop")[0], func(hr *v1alpha1.HelmRelease) { hr.OwnerReferences[0].UID = "before" })}},
			""},
		"the operator's own namespace": {
			Input{Releases: releases(system + "/helm-locker")}, "every OperatorNamespace locker/helm-locker"},
		"a release with a name that Helm does not take": {Input{Releases: releases("apps/" + strings.Repeat("a", 54))}, ""},
		"a policy in another namespace": {
			Input{Releases: releases("apps/shop"), Policies: []*v1alpha1.HelmReleasePolicy{
				with(newPolicy("stray", "*"), func(p *v1alpha1.HelmReleasePolicy) { p.Namespace = "apps" })}},
			""},
		"a policy that is being deleted": {
			Input{Releases: releases("apps/shop"), Policies: []*v1alpha1.HelmReleasePolicy{
				with(newPolicy("dying", "*"), func(p *v1alpha1.HelmReleasePolicy) { p.DeletionTimestamp = &metav1.Time{Time: noon} })}},
			""},
		"a policy that another controller has claimed": {
			Input{Controller: "helm-locker", Releases: releases("apps/shop"), Policies: []*v1alpha1.HelmReleasePolicy{
				with(newPolicy("theirs", "*"), func(p *v1alpha1.HelmReleasePolicy) {
					p.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: "other"}
				})}},
			""},
		"what an invalid policy locked stays locked": {
			Input{Releases: releases("apps/shop", "apps/new"), HelmReleases: made("apps/shop"),
				Policies: []*v1alpha1.HelmReleasePolicy{newPolicy("other", "apps"),
					with(newPolicy("every"), func(p *v1alpha1.HelmReleasePolicy) {})}},
			"other Create apps/new; other OtherPolicy apps/shop every"},
		"without the labels of namespaces nothing changes": {
			Input{Releases: releases("apps/shop", "apps/new"), HelmReleases: made("apps/shop"),
				NamespacesErr: errors.New("forbidden"), Policies: []*v1alpha1.HelmReleasePolicy{
					with(newPolicy("every"), func(p *v1alpha1.HelmReleasePolicy) {
						p.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
					})}},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Namespace, tc.in.Now = system, noon
			if tc.in.Policies == nil {
				tc.in.Policies = []*v1alpha1.HelmReleasePolicy{every}
			}
			got := show(Make(tc.in))
			check.That(t, got == tc.want, "got  %s\nwant %s", got, tc.want)
		})
	}
}

func TestTheOperatorsNamespaceIsMatchedWhenThePolicySaysSo(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.IncludeOperatorNamespace = true
	in := inputOf(p, system+"/helm-locker")
	plan := Make(in)
	check.Equal(t, show(plan), "every Create locker/helm-locker")
	in.HelmReleases = carriedOut(in, plan)
	p.Spec.IncludeOperatorNamespace = false
	check.Equal(t, show(Make(in)), "every OperatorNamespace locker/helm-locker; every Delete locker/helm-locker")
}

// A handover is a change of the HelmRelease: the release is not unlocked meanwhile.
func TestAReleaseGoesFromOnePolicyToAnother(t *testing.T) {
	broad, narrow := newPolicy("broad", "*"), newPolicy("narrow", "apps")
	narrow.Spec.Template.Spec.Mode = v1alpha1.ModeDetect
	in := inputOf(broad, "apps/shop")
	in.HelmReleases = carriedOut(in, Make(in))
	in.Policies = append(in.Policies, narrow)
	plan := Make(in)
	check.Equal(t, show(plan), "broad OtherPolicy apps/shop narrow; narrow Update apps/shop")
	in.HelmReleases = carriedOut(in, plan)
	hr := in.HelmReleases[0]
	check.That(t,
		v1alpha1.PolicyOf(hr).Name == "narrow" && len(hr.OwnerReferences) == 1 &&
			hr.Labels[v1alpha1.PolicyLabel] == "narrow" && hr.Spec.Mode == v1alpha1.ModeDetect, "%+v", hr)
	check.Equal(t, show(Make(in)), "broad OtherPolicy apps/shop narrow")
	in.Policies = in.Policies[1:] // the broad one is gone
	check.Equal(t, show(Make(in)), "")
}

func TestTheTemplateIsFollowed(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.Template.Metadata.Labels = map[string]string{"shard": "a"}
	in := Input{Namespace: system, Controller: "helm-locker", Policies: []*v1alpha1.HelmReleasePolicy{p},
		Releases: releases("apps/shop"), Now: noon}
	step := func(what string, want string) *v1alpha1.HelmRelease {
		t.Helper()
		plan := Make(in)
		check.Equal(t, show(plan), want, "%v", what)
		in.HelmReleases = carriedOut(in, plan)
		check.Equal(t, show(Make(in)), "", "%s: a second time", what)
		return in.HelmReleases[0]
	}
	hr := step("created", "every Create apps/shop")
	check.That(t,
		hr.Name == "apps.shop" && hr.Labels["shard"] == "a" && hr.Labels[v1alpha1.PolicyLabel] == "every" &&
			hr.Annotations[v1alpha1.ManagedByAnnotation] == "helm-locker" && hr.OwnerReferences[0].UID == p.UID, "created %+v",
		hr)
	hr.Labels["mine"], hr.Spec.Suspend = "x", true
	p.Spec.Template.Metadata.Labels = map[string]string{"tier": "b"}
	hr = step("other labels", "every Update apps/shop")
	_, still := hr.Labels["shard"]
	check.That(t, !still && hr.Labels["tier"] == "b" && hr.Labels["mine"] == "x" && hr.Spec.Suspend, "other labels: %+v",
		hr)
	hr.Spec.Suspend = false
	p.Spec.Template.Spec.Suspend = true
	hr = step("suspended", "every Update apps/shop")
	check.That(t, hr.Spec.Suspend, "not suspended")
	hr.Spec.Suspend = false
	hr = step("a resumed one", "every Update apps/shop")
	check.That(t, hr.Spec.Suspend, "not suspended again")
	p.Spec.Template.Spec.Suspend = false
	hr = step("resumed", "every Update apps/shop")
	check.That(t, !hr.Spec.Suspend, "still suspended")
	p.Spec.Template = v1alpha1.HelmReleaseTemplate{}
	p.Spec.Template.Metadata.Labels = map[string]string{"tier": "b"}
	step("an empty template has the defaults of the API server", "")
}

func TestTheBoundIsSharedByNamespaces(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.MaxReleases = 5
	in := inputOf(p, "a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7")
	names := func() (names []string) {
		plan := Make(in)
		in.HelmReleases = carriedOut(in, plan)
		for _, hr := range in.HelmReleases {
			names = append(names, hr.Name)
		}
		slices.Sort(names)
		again := Make(in)
		check.That(t, !slices.ContainsFunc(again.Results, func(r Result) bool {
			return r.Outcome == Create || r.Outcome == Update || r.Outcome == Delete
		}), "a second time: %s", show(again))
		return names
	}
	if got, want := names(), []string{"a.1", "a.2", "a.3", "a.4", "a.5"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s, _, _ := func() (Summary, []Result, bool) { p := Make(in); return p.Of("every") }()
	check.That(t, s.Counts.OverBound == 2 && s.Counts.Matched == 7 && s.Counts.Made == 5, "%+v", s.Counts)
	// New ones of the same namespace do not displace locked ones.
	in.Releases = append(in.Releases, releases("a/0")...)
	if got, want := names(), []string{"a.1", "a.2", "a.3", "a.4", "a.5"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Those of another namespace do, up to its share.
	in.Releases = append(in.Releases, releases("b/1", "b/2", "b/3", "b/4")...)
	if got, want := names(), []string{"a.1", "a.2", "a.3", "b.1", "b.2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMakeChangesNothingOfItsInput(t *testing.T) {
	p, q := newPolicy("every", "*"), newPolicy("apps", "apps")
	p.Spec.Template.Metadata.Labels = map[string]string{"a": "b"}
	in := Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p, q}, Releases: releases("apps/a", "b/c")}
	in.HelmReleases = carriedOut(in, Make(in))
	in.HelmReleases[0].Spec.Mode = v1alpha1.ModeDetect
	p.Spec.Template.Spec.Suspend = true
	var before []*v1alpha1.HelmRelease
	for _, hr := range in.HelmReleases {
		before = append(before, hr.DeepCopy())
	}
	Make(in)
	check.That(t, equality.Semantic.DeepEqual(before, in.HelmReleases), "a HelmRelease was changed")
}
