package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

const system = "locker"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// newPolicy returns a policy for the given namespaces, as the API server stores one.
func newPolicy(name string, namespaces ...string) *v1alpha1.HelmReleasePolicy {
	p := &v1alpha1.HelmReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name,
		UID: types.UID("uid of " + name), Generation: 1, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	p.Spec.Match.Namespaces = namespaces
	p.Spec.Template.Spec = v1alpha1.Protection{Mode: v1alpha1.ModeEnforce, Scope: v1alpha1.ScopeDeclared,
		Guard: v1alpha1.GuardOff}
	p.Spec.MaxReleases = defaultMaxReleases
	return p
}

func newRelease(name string) Release {
	namespace, name, _ := strings.Cut(name, "/")
	return Release{Key: release.Key{Namespace: namespace, Name: name}}
}

func releases(names ...string) (all []Release) {
	for _, name := range names {
		all = append(all, newRelease(name))
	}
	return all
}

// handWritten returns a HelmRelease that no policy made.
func handWritten(name, of string) *v1alpha1.HelmRelease {
	r := newRelease(of)
	hr := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name,
		UID: types.UID("uid of HelmRelease " + name)}}
	hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: r.Namespace, Name: r.Name}
	return hr
}

// carriedOut returns the HelmReleases after a plan has been carried out, with the status that the operator gives them.
func carriedOut(in Input, plan Plan) []*v1alpha1.HelmRelease {
	all := map[string]*v1alpha1.HelmRelease{}
	for _, hr := range in.HelmReleases {
		all[hr.Name] = hr
	}
	for _, r := range plan.Results {
		switch r.Outcome {
		case Create, Update:
			hr := r.Desired.DeepCopy()
			if hr.UID == "" {
				hr.UID = types.UID("uid of HelmRelease " + hr.Name)
			}
			hr.Generation++
			hr.Status.ObservedGeneration = hr.Generation
			locked := metav1.Condition{Type: v1alpha1.ConditionLocked, Status: metav1.ConditionTrue,
				Reason: v1alpha1.ReasonLocked}
			if hr.Spec.Mode == v1alpha1.ModeDetect {
				locked.Status, locked.Reason = metav1.ConditionFalse, v1alpha1.ReasonDetectOnly
			}
			ready := metav1.Condition{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: locked.Reason,
			}
			hr.Status.Conditions = []metav1.Condition{locked, ready}
			all[hr.Name] = hr
		case Delete:
			delete(all, r.Existing.Name)
		}
	}
	var list []*v1alpha1.HelmRelease
	for _, hr := range all {
		list = append(list, hr)
	}
	return list
}

// show renders a plan, without what is kept.
func show(plan Plan) string {
	var lines []string
	for _, r := range plan.Results {
		line := fmt.Sprintf("%s %s %s %s", r.Policy.Name, r.Outcome, r.Release, r.By)
		if r.Outcome != Keep {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

func with[T any](v *T, change func(*T)) *T {
	change(v)
	return v
}

func TestMatches(t *testing.T) {
	team := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": value}}
	}
	namespaces := Namespaces{"shop-eu": {"team": "web"}, "shop-us": {"team": "data"}, "apps": {}}
	labelled := newRelease("apps/api")
	labelled.Labels = map[string]string{"team": "web", "status": "deployed", "owner": "helm"}
	for name, tc := range map[string]struct {
		match    v1alpha1.ReleaseMatch
		exclude  []v1alpha1.ReleaseMatch
		yes, not []Release
	}{
		"namespaces by glob": {
			match: v1alpha1.ReleaseMatch{Namespaces: []string{"shop-*", "ap?s"}},
			yes:   releases("shop-eu/a", "apps/a"), not: releases("shop/a", "apps2/a")},
		"releases by glob": {
			match: v1alpha1.ReleaseMatch{Releases: []string{"*-api"}},
			yes:   releases("apps/x-api"), not: releases("apps/api")},
		"both have to apply": {
			match: v1alpha1.ReleaseMatch{Namespaces: []string{"apps"}, Releases: []string{"a*"}},
			yes:   releases("apps/a"), not: releases("apps/b", "shop-eu/a")},
		"labels of namespaces; not of one that is not known": {
			match: v1alpha1.ReleaseMatch{NamespaceSelector: team("web")},
			yes:   releases("shop-eu/a"), not: releases("shop-us/a", "apps/a", "new/a")},
		"a negative selector does not select a namespace that is not known": {
			match: v1alpha1.ReleaseMatch{NamespaceSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"web"}}}}},
			yes: releases("shop-us/a", "apps/a"), not: releases("shop-eu/a", "new/a")},
		"labels of releases": {
			match: v1alpha1.ReleaseMatch{ReleaseSelector: team("web")},
			yes:   []Release{labelled}, not: releases("apps/api")},
		"labels of Helm's storage select nothing": {
			match: v1alpha1.ReleaseMatch{
				ReleaseSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"status": "deployed"}},
			},
			not: []Release{labelled}},
		"excludes": {
			match: v1alpha1.ReleaseMatch{Namespaces: []string{"*"}},
			exclude: []v1alpha1.ReleaseMatch{{Namespaces: []string{"apps"}, Releases: []string{"a"}},
				{NamespaceSelector: team("data")}, {Releases: []string{"*-canary"}}},
			yes: releases("apps/b", "shop-eu/a"),
			not: releases("apps/a", "shop-us/b", "shop-eu/x-canary", "new/a")},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(&v1alpha1.HelmReleasePolicySpec{Match: tc.match, Exclude: tc.exclude})
			check.NoError(t, err)
			for _, r := range tc.yes {
				if !m.Matches(r, namespaces) {
					t.Errorf("%s does not match", r.Key)
				}
			}
			for _, r := range tc.not {
				if m.Matches(r, namespaces) {
					t.Errorf("%s matches", r.Key)
				}
			}
		})
	}
}

func TestAMatchThatWouldSelectEverythingByAccidentIsAnError(t *testing.T) {
	for want, match := range map[string]v1alpha1.ReleaseMatch{
		"selects by nothing":                        {},
		"spec.match.namespaceSelector: it is empty": {NamespaceSelector: &metav1.LabelSelector{}},
		"spec.match.releaseSelector: it is empty":   {ReleaseSelector: &metav1.LabelSelector{}},
		"not a valid label selector operator": {ReleaseSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}},
	} {
		if _, err := Compile(&v1alpha1.HelmReleasePolicySpec{Match: match}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The order of the list is the precedence.
func TestTheMoreSpecificPolicyWins(t *testing.T) {
	selector := func(labels ...string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for _, label := range labels {
			s.MatchLabels[label] = "x"
		}
		return s
	}
	r := newRelease("apps/shop-api")
	r.Labels = map[string]string{"a": "x", "b": "x"}
	namespaces := Namespaces{"apps": {"a": "x", "b": "x"}}
	order := []v1alpha1.ReleaseMatch{
		{Releases: []string{"shop-api"}},
		{Releases: []string{"shop-*"}, Namespaces: []string{"apps"}},
		{Releases: []string{"*-api"}, ReleaseSelector: selector("a", "b")},
		{ReleaseSelector: selector("a", "b")},
		{ReleaseSelector: selector("a"), Namespaces: []string{"apps"}},
		{Namespaces: []string{"apps"}},
		{Namespaces: []string{"app*"}},
		{Namespaces: []string{"a*", "b*"}, NamespaceSelector: selector("a")},
		{NamespaceSelector: selector("a", "b")},
		{NamespaceSelector: selector("a")},
		{Namespaces: []string{"*"}},
	}
	for i := range order {
		for j := range order {
			if i == j {
				continue
			}
			// The one that should lose is older, and first by name.
			a, b := newPolicy("winner"), newPolicy("loser")
			a.CreationTimestamp = metav1.NewTime(noon)
			a.Spec.Match, b.Spec.Match = order[min(i, j)], order[max(i, j)]
			plan := Make(Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{b, a}, Releases: []Release{r},
				Namespaces: namespaces, Now: noon})
			if got := show(plan); got != "loser OtherPolicy apps/shop-api winner; winner Create apps/shop-api" {
				t.Errorf("%d before %d: %s", min(i, j), max(i, j), got)
			}
		}
	}
}

func TestOfEqualPoliciesTheOlderWinsThenTheFirstByName(t *testing.T) {
	older, b, a := newPolicy("z", "apps"), newPolicy("b", "apps"), newPolicy("a", "apps")
	older.CreationTimestamp = metav1.NewTime(noon.Add(-2 * time.Hour))
	unstored := newPolicy("0", "apps")
	unstored.CreationTimestamp, unstored.UID = metav1.Time{}, ""
	for want, policies := range map[string][]*v1alpha1.HelmReleasePolicy{
		"z": {a, older, b, unstored}, "a": {b, a, unstored}, "b": {unstored, b}, "0": {unstored},
	} {
		plan := Make(Input{Namespace: system, Policies: policies, Releases: releases("apps/shop"), Now: noon})
		for _, r := range plan.Results {
			if (r.Outcome == Create) != (r.Policy.Name == want) {
				t.Errorf("want %s: %s", want, show(plan))
			}
		}
	}
}

func TestPlans(t *testing.T) {
	every := newPolicy("every", "*")
	made := func(of ...string) []*v1alpha1.HelmRelease {
		in := Input{
			Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{every}, Releases: releases(of...), Now: noon,
		}
		return carriedOut(in, Make(in))
	}
	for name, tc := range map[string]struct {
		in   Input
		want string
	}{
		"a HelmRelease for each release": {
			Input{Releases: releases("apps/shop", "kitchen/bakery")},
			"every Create apps/shop; every Create kitchen/bakery"},
		"nothing when nothing differs": {
			Input{Releases: releases("apps/shop"), HelmReleases: made("apps/shop")}, ""},
		"gone with the release": {
			Input{HelmReleases: made("apps/shop")}, "every Delete apps/shop"},
		"written by hand, before": {
			Input{Releases: releases("apps/shop"), HelmReleases: []*v1alpha1.HelmRelease{handWritten("mine", "apps/shop")}},
			"every HandWritten apps/shop mine"},
		"written by hand, later": {
			Input{Releases: releases("apps/shop"),
				HelmReleases: append(made("apps/shop"), handWritten("mine", "apps/shop"))},
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
		"a release with a name that Helm does not take": {
			Input{Releases: releases("apps/" + strings.Repeat("a", 54))}, ""},
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
			if got := show(Make(tc.in)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestTheOperatorsNamespaceIsMatchedWhenThePolicySaysSo(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.IncludeOperatorNamespace = true
	in := Input{
		Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p}, Releases: releases(system + "/helm-locker"),
	}
	plan := Make(in)
	if got := show(plan); got != "every Create locker/helm-locker" {
		t.Error(got)
	}
	in.HelmReleases = carriedOut(in, plan)
	p.Spec.IncludeOperatorNamespace = false
	if got := show(Make(in)); got != "every OperatorNamespace locker/helm-locker; every Delete locker/helm-locker" {
		t.Error(got)
	}
}

// A handover is a change of the HelmRelease: the release is not unlocked meanwhile.
func TestAReleaseGoesFromOnePolicyToAnother(t *testing.T) {
	broad, narrow := newPolicy("broad", "*"), newPolicy("narrow", "apps")
	narrow.Spec.Template.Spec.Mode = v1alpha1.ModeDetect
	in := Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{broad}, Releases: releases("apps/shop")}
	in.HelmReleases = carriedOut(in, Make(in))
	in.Policies = append(in.Policies, narrow)
	plan := Make(in)
	if got := show(plan); got != "broad OtherPolicy apps/shop narrow; narrow Update apps/shop" {
		t.Error(got)
	}
	in.HelmReleases = carriedOut(in, plan)
	if hr := in.HelmReleases[0]; Owner(hr).Name != "narrow" || len(hr.OwnerReferences) != 1 ||
		hr.Labels[v1alpha1.PolicyLabel] != "narrow" || hr.Spec.Mode != v1alpha1.ModeDetect {
		t.Errorf("%+v", hr)
	}
	if got := show(Make(in)); got != "broad OtherPolicy apps/shop narrow" {
		t.Error(got)
	}
	in.Policies = in.Policies[1:] // the broad one is gone
	if got := show(Make(in)); got != "" {
		t.Error(got)
	}
}

func TestTheTemplateIsFollowed(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.Template.Metadata.Labels = map[string]string{"shard": "a"}
	in := Input{Namespace: system, Controller: "helm-locker", Policies: []*v1alpha1.HelmReleasePolicy{p},
		Releases: releases("apps/shop"), Now: noon}
	step := func(what string, want string) *v1alpha1.HelmRelease {
		t.Helper()
		plan := Make(in)
		if got := show(plan); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
		in.HelmReleases = carriedOut(in, plan)
		if again := show(Make(in)); again != "" {
			t.Errorf("%s: a second time: %s", what, again)
		}
		return in.HelmReleases[0]
	}
	hr := step("created", "every Create apps/shop")
	if hr.Name != "apps.shop" || hr.Labels["shard"] != "a" || hr.Labels[v1alpha1.PolicyLabel] != "every" ||
		hr.Annotations[v1alpha1.ManagedByAnnotation] != "helm-locker" || hr.OwnerReferences[0].UID != p.UID {
		t.Errorf("created %+v", hr)
	}
	hr.Labels["mine"], hr.Spec.Suspend = "x", true
	p.Spec.Template.Metadata.Labels = map[string]string{"tier": "b"}
	hr = step("other labels", "every Update apps/shop")
	if _, still := hr.Labels["shard"]; still || hr.Labels["tier"] != "b" || hr.Labels["mine"] != "x" || !hr.Spec.Suspend {
		t.Errorf("other labels: %+v", hr)
	}
	hr.Spec.Suspend = false
	p.Spec.Template.Spec.Suspend = true
	if hr = step("suspended", "every Update apps/shop"); !hr.Spec.Suspend {
		t.Error("not suspended")
	}
	hr.Spec.Suspend = false
	if hr = step("a resumed one", "every Update apps/shop"); !hr.Spec.Suspend {
		t.Error("not suspended again")
	}
	p.Spec.Template.Spec.Suspend = false
	if hr = step("resumed", "every Update apps/shop"); hr.Spec.Suspend {
		t.Error("still suspended")
	}
	p.Spec.Template = v1alpha1.HelmReleaseTemplate{}
	p.Spec.Template.Metadata.Labels = map[string]string{"tier": "b"}
	step("an empty template has the defaults of the API server", "")
}

func TestTheBoundIsSharedByNamespaces(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.MaxReleases = 5
	in := Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p},
		Releases: releases("a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7")}
	names := func() (names []string) {
		plan := Make(in)
		in.HelmReleases = carriedOut(in, plan)
		for _, hr := range in.HelmReleases {
			names = append(names, hr.Name)
		}
		slices.Sort(names)
		if again := Make(in); slices.ContainsFunc(again.Results, func(r Result) bool {
			return r.Outcome == Create || r.Outcome == Update || r.Outcome == Delete
		}) {
			t.Errorf("a second time: %s", show(again))
		}
		return names
	}
	if got, want := names(), []string{"a.1", "a.2", "a.3", "a.4", "a.5"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s, _, _ := func() (Summary, []Result, bool) { p := Make(in); return p.Of("every") }(); s.Counts.OverBound != 2 ||
		s.Counts.Matched != 7 || s.Counts.Made != 5 {
		t.Errorf("%+v", s.Counts)
	}
	// New ones of the same namespace do not take the place of those that are locked.
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

func TestRollout(t *testing.T) {
	p := newPolicy("every", "*")
	p.Spec.Rollout = &v1alpha1.Rollout{BatchSize: 2, Interval: metav1.Duration{Duration: time.Hour}}
	p.Spec.Template.Spec.Guard = v1alpha1.GuardDeny
	p.Status.ObservedGeneration = 1
	in := Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p}, Now: noon,
		Releases: releases("a/1", "a/2", "a/3", "a/4", "a/5")}
	step := func(what string, enforced int, state v1alpha1.RolloutState) Summary {
		t.Helper()
		plan := Make(in)
		in.HelmReleases = carriedOut(in, plan)
		s := plan.Policies[0]
		got := 0
		for _, hr := range in.HelmReleases {
			if hr.Spec.Mode == v1alpha1.ModeEnforce {
				got++
			} else if hr.Spec.Guard != v1alpha1.GuardWarn {
				t.Errorf("%s: a release in mode Detect has guard %s", what, hr.Spec.Guard)
			}
		}
		if got != enforced || s.Rollout.State != state || s.Rollout.Enforced+s.Rollout.Waiting != len(in.HelmReleases) {
			t.Errorf("%s: %d enforced, want %d; %+v", what, got, enforced, s.Rollout)
		}
		return s
	}
	step("made", 0, v1alpha1.RolloutProgressing)
	first := step("the first batch", 2, v1alpha1.RolloutProgressing)
	if !first.Again.Equal(noon.Add(time.Hour)) || !first.Rollout.NextBatch.Time.Equal(first.Again) {
		t.Errorf("the next batch is at %s, %s", first.Again, first.Rollout.NextBatch)
	}
	in.Now = noon.Add(time.Hour - time.Second)
	step("before its time", 2, v1alpha1.RolloutProgressing)

	// A release that moved is uninstalled: no other one moves for it, given the status.
	p.Status.Rollout = first.Rollout
	kept := in.HelmReleases
	in.HelmReleases, in.Releases = slices.DeleteFunc(slices.Clone(kept), func(hr *v1alpha1.HelmRelease) bool {
		return hr.Name == "a.1"
	}), in.Releases[1:]
	step("one that moved is uninstalled", 1, v1alpha1.RolloutProgressing)

	in.Now = noon.Add(time.Hour)
	step("the second batch", 3, v1alpha1.RolloutProgressing)
	contended := func(status metav1.ConditionStatus) {
		for _, hr := range in.HelmReleases {
			if hr.Name == "a.2" {
				hr.Status.Conditions = append(hr.Status.Conditions[:2:2], metav1.Condition{
					Type: v1alpha1.ConditionContended, Status: status})
			}
		}
	}
	in.Now = noon.Add(2 * time.Hour)
	contended(metav1.ConditionTrue)
	if s := step("a fight", 3, v1alpha1.RolloutStopped); !strings.Contains(s.Rollout.Message, "a/2") {
		t.Error(s.Rollout.Message)
	}
	p.Spec.Rollout.MaxContended = 1
	step("fights that are allowed", 4, v1alpha1.RolloutComplete)
	contended(metav1.ConditionFalse)

	// What moved is put back when somebody edits it, and stays when the policy moves nothing more.
	in.HelmReleases[0].Spec.Mode = v1alpha1.ModeDetect
	step("an edit", 4, v1alpha1.RolloutComplete)
	p.Spec.Template.Spec.Mode, p.Spec.Template.Spec.Guard = v1alpha1.ModeDetect, v1alpha1.GuardWarn
	plan := Make(in)
	in.HelmReleases = carriedOut(in, plan)
	for _, hr := range in.HelmReleases {
		if _, since := enforcedSince(hr); since || hr.Spec.Mode != v1alpha1.ModeDetect {
			t.Errorf("in mode Detect: %+v", hr)
		}
	}
	if plan.Policies[0].Rollout != nil {
		t.Error("a rollout in mode Detect")
	}
}

func TestARolloutThatIsAddedMovesNothingBack(t *testing.T) {
	p := newPolicy("every", "*")
	in := Input{
		Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p}, Now: noon, Releases: releases("a/1", "a/2"),
	}
	in.HelmReleases = carriedOut(in, Make(in))
	p.Spec.Rollout = &v1alpha1.Rollout{}
	plan := Make(in)
	if got := show(plan); got != "" || plan.Policies[0].Rollout.State != v1alpha1.RolloutComplete {
		t.Errorf("%s %+v", got, plan.Policies[0].Rollout)
	}
}

func TestRevertsThatFailStopARollout(t *testing.T) {
	p := newPolicy("every", "*")
	in := Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p}, Now: noon, Releases: releases("a/1")}
	in.HelmReleases = carriedOut(in, Make(in))
	in.HelmReleases[0].Status.Conditions = append(in.HelmReleases[0].Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRevertFailed})
	p.Spec.Rollout = &v1alpha1.Rollout{MaxContended: 7}
	in.Releases = append(in.Releases, newRelease("a/2"))
	if s := Make(in).Policies[0]; s.Rollout.State != v1alpha1.RolloutStopped {
		t.Errorf("%+v", s.Rollout)
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
	if !equality.Semantic.DeepEqual(before, in.HelmReleases) {
		t.Error("a HelmRelease was changed")
	}
}
