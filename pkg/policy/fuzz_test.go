package policy

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// randomInput returns some policies, releases and HelmReleases, of few different names, so that they collide.
func randomInput(g *rand.Rand) Input {
	pick := func(from ...string) string { return from[g.IntN(len(from))] }
	in := Input{Namespace: system, Controller: "me", Now: noon.Add(time.Duration(g.IntN(7200)) * time.Second),
		Namespaces: Namespaces{"a": {"team": "x"}, "b": {}, system: {}}}
	for i := range g.IntN(4) {
		p := newPolicy(string(rune('p'+i)), pick("a", "b", "*", "?", system))
		p.CreationTimestamp = metav1.NewTime(noon.Add(time.Duration(g.IntN(2)) * time.Hour))
		if g.IntN(3) == 0 {
			p.Spec.Match.Releases = []string{pick("r*", "r1", "*")}
		}
		if g.IntN(4) == 0 {
			p.Spec.Exclude = []v1alpha1.ReleaseMatch{{Releases: []string{pick("r1", "r2")}}}
		}
		if g.IntN(4) == 0 {
			p.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
		}
		if g.IntN(8) == 0 {
			p.Spec.Match = v1alpha1.ReleaseMatch{}
		}
		if g.IntN(3) == 0 {
			p.Spec.Rollout = &v1alpha1.Rollout{BatchSize: 1 + g.IntN(3),
				Drifted: v1alpha1.DriftedReleases(pick("", "Hold", "Revert"))}
			if g.IntN(2) == 0 && p.Spec.Rollout.Drifted != v1alpha1.DriftedRevert {
				p.Spec.Rollout.HoldFor = &metav1.Duration{Duration: time.Duration(1+g.IntN(9)) * time.Hour}
			}
		}
		p.Spec.MaxReleases = 1 + g.IntN(6)
		p.Spec.IncludeOperatorNamespace = g.IntN(2) == 0
		p.Spec.Template.Spec.Suspend = g.IntN(5) == 0
		p.Spec.Template.Metadata.Labels = map[string]string{pick("shard", "tier"): pick("1", "2")}
		in.Policies = append(in.Policies, p)
	}
	for _, namespace := range []string{"a", "b", "c", system} {
		for _, name := range []string{"r1", "r2", "s"} {
			if g.IntN(2) == 0 {
				in.Releases = append(in.Releases, newRelease(namespace+"/"+name))
			}
			if g.IntN(3) > 0 {
				continue
			}
			hr := handWritten(pick("x.", namespace+".")+name, namespace+"/"+name)
			if slices.ContainsFunc(in.HelmReleases, func(o *v1alpha1.HelmRelease) bool { return o.Name == hr.Name }) {
				continue
			}
			if g.IntN(3) > 0 {
				p := newPolicy(pick("p", "q", "r", "gone"))
				p.Spec.Template.Metadata.Labels = map[string]string{"old": "1"}
				key, mode := release.Key{Namespace: namespace, Name: name}, v1alpha1.Mode(pick("Enforce", "Detect"))
				hr = desired(p, key, hr, phase{mode: mode})
			}
			for _, a := range []struct{ name, value string }{
				{drifts, "yes"}, {v1alpha1.EnforceRevisionAnnotation, pick("0", "7")},
				{v1alpha1.HeldSinceAnnotation, pick("", "x", noon.Format(time.RFC3339))},
			} {
				if g.IntN(2) == 0 {
					annotate(hr, a.name, a.value)
				}
			}
			if g.IntN(8) == 0 {
				hr.DeletionTimestamp = &metav1.Time{Time: noon}
			}
			hr.UID = types.UID("uid of HelmRelease " + hr.Name)
			in.HelmReleases = append(in.HelmReleases, hr)
		}
	}
	return in
}

// For any input: a plan that is carried out leaves nothing to do but the next batches of rollouts, never two
// HelmReleases of policies for a release, nor more than a policy allows, and it touches nothing of others.
func FuzzMake(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		in := randomInput(rand.New(rand.NewPCG(seed, 1)))
		plan := Make(in)
		written := map[string]bool{}
		for _, r := range plan.Results {
			if r.Outcome != Create && r.Outcome != Update && r.Outcome != Delete {
				continue
			}
			name := Name(r.Release)
			if r.Existing != nil {
				name = r.Existing.Name
			}
			check.That(t, !written[name], "HelmRelease %s is written twice: %s", name, show(plan))
			written[name] = true
			if r.Existing != nil && v1alpha1.PolicyOf(r.Existing) == nil {
				t.Errorf("HelmRelease %s was written by hand: %s", name, show(plan))
			}
			if r.Outcome != Delete && r.Release.Namespace == system && !r.Policy.Spec.IncludeOperatorNamespace {
				t.Errorf("%s is the operator's own: %s", r.Release, show(plan))
			}
		}
		for _, s := range plan.Policies {
			check.That(t, s.Counts.Made <= len(in.HelmReleases), "%+v", s.Counts)
		}
		for range 20 { // as many batches as there can be
			checkHeld(t, in, plan)
			in.HelmReleases = carriedOut(in, plan)
			in.Now = in.Now.Add(2 * time.Hour)
			plan = Make(in)
		}
		checkSettled(t, in, plan)
	})
}

// checkHeld fails the test if a plan enforces a release with drift unasked.
func checkHeld(t *testing.T, in Input, plan Plan) {
	t.Helper()
	for _, r := range plan.Results {
		if r.Outcome != Update || r.Existing.Spec.Mode != v1alpha1.ModeDetect ||
			r.Desired.Spec.Mode == v1alpha1.ModeDetect {
			continue
		}
		rollout := r.Policy.Spec.Rollout
		if rollout == nil || rollout.Drifted == v1alpha1.DriftedRevert ||
			!meta.IsStatusConditionTrue(r.Existing.Status.Conditions, v1alpha1.ConditionDrifted) {
			continue
		}
		_, moved := enforcedSince(r.Existing) // a user changed the mode since
		since, held := heldSince(r.Existing)
		over := held && rollout.HoldFor != nil && !in.Now.Before(since.Add(rollout.HoldFor.Duration))
		if !moved && !over && (!held || r.Existing.Annotations[v1alpha1.EnforceRevisionAnnotation] != "0") {
			t.Errorf("release %s is enforced with its drift: %+v", r.Release, r.Existing.Annotations)
		}
	}
}

func checkSettled(t *testing.T, in Input, plan Plan) {
	t.Helper()
	made := map[string]int{}
	for _, r := range plan.Results {
		switch r.Outcome {
		case Create, Update, Delete:
			t.Errorf("not settled: %s", show(plan))
		}
	}
	for _, hr := range in.HelmReleases {
		if hr.DeletionTimestamp == nil && v1alpha1.PolicyOf(hr) != nil && v1alpha1.PolicyOf(hr).Name != "gone" {
			made[v1alpha1.PolicyOf(hr).Name]++
		}
	}
	for _, s := range plan.Policies {
		if s.Problem.Reason == "" && made[s.Policy.Name] > s.Policy.Spec.MaxReleases {
			t.Errorf("policy %s has made %d HelmReleases of at most %d", s.Policy.Name, made[s.Policy.Name],
				s.Policy.Spec.MaxReleases)
		}
	}
}
