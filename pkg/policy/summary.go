package policy

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// compile returns the Matcher of a policy, or why it changes nothing.
func (pl *planner) compile(p *v1alpha1.HelmReleasePolicy) (*Matcher, Problem) {
	m, err := Compile(&p.Spec)
	switch {
	case err != nil:
		return nil, Problem{v1alpha1.ReasonInvalidPolicy, err.Error()}
	case pl.NamespacesErr != nil && m.NeedsNamespaces():
		reason := v1alpha1.ReasonApplying // it is tried again by itself
		if apierrors.IsForbidden(pl.NamespacesErr) {
			reason = v1alpha1.ReasonForbidden
		}
		return nil, Problem{reason, fmt.Sprintf(
			"the policy selects by labels of namespaces, which cannot be read: %v", pl.NamespacesErr)}
	}
	return m, Problem{}
}

func (c *candidate) summary() Summary {
	s := Summary{Policy: c.HelmReleasePolicy, Problem: c.problem, OwnRights: c.ownRights, Rollout: c.rollout,
		Again: c.again}
	for _, r := range c.results {
		switch r.Outcome {
		case HandWritten:
			s.Counts.HandWritten++
		case OtherPolicy:
			s.Counts.OtherPolicy++
			s.Others = append(s.Others, r.By)
		case OverBound:
			s.Counts.OverBound++
		case OperatorNamespace:
			s.Counts.OperatorNamespace++
		case NameTaken:
			s.Counts.NameTaken++
			s.Taken = append(s.Taken, r.By)
		}
		if r.Outcome != Delete {
			s.Counts.Matched++
		}
	}
	for _, hr := range c.previous {
		s.Counts.Made++
		if hr.Spec.Mode == v1alpha1.ModeEnforce {
			s.enforced++
		}
		if meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionLocked) {
			s.Counts.Locked++
		}
		if hr.Status.Objects.Drifted > 0 {
			s.Counts.Drifted++
		}
	}
	for _, list := range []*[]string{&s.Others, &s.Taken} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s
}
