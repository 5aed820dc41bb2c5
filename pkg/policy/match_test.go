package policy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

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
				check.That(t, m.Matches(r, namespaces), "%s does not match", r.Key)
			}
			for _, r := range tc.not {
				check.That(t, !m.Matches(r, namespaces), "%s matches", r.Key)
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
		_, err := Compile(&v1alpha1.HelmReleasePolicySpec{Match: match})
		check.That(t, err != nil && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
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
			// The expected loser is older, and first by name.
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
			check.Equal(t, r.Outcome == Create, r.Policy.Name == want, "want %s: %s", want, show(plan))
		}
	}
}

// Rules with an end on a HelmRelease of a policy stay, as a suspension does; those of the template replace the
// policy's own.
func TestRulesWithAnEndStay(t *testing.T) {
	end := metav1.NewTime(time.Unix(1e9, 0))
	forGood, temporary := v1alpha1.IgnoreRule{Paths: []string{"/a"}}, v1alpha1.IgnoreRule{Paths: []string{"/b"}, Until: &end}
	p := &v1alpha1.HelmReleasePolicy{}
	p.Spec.Template.Spec.Ignore = []v1alpha1.IgnoreRule{forGood}
	key := release.Key{Namespace: "apps", Name: "shop"}
	paths := func(hr *v1alpha1.HelmRelease) (all string) {
		for _, r := range hr.Spec.Ignore {
			all += r.Paths[0]
		}
		return all
	}
	hr := desired(p, key, nil, phase{mode: v1alpha1.ModeEnforce})
	hr.Spec.Ignore = append(hr.Spec.Ignore, temporary)
	hr = desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
	check.That(t, paths(hr) == "/a/b", "a user's rule: %s", paths(hr))
	p.Spec.Template.Spec.Ignore = []v1alpha1.IgnoreRule{temporary}
	hr = desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
	check.That(t, paths(hr) == "/b", "the template's rule with an end: %s", paths(hr))
	p.Spec.Template.Spec.Ignore = nil
	hr = desired(p, key, hr, phase{mode: v1alpha1.ModeEnforce})
	check.That(t, paths(hr) == "", "after the template's rule has gone: %s", paths(hr))
}
