package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/policy"
)

// lockMany writes the HelmReleasePolicy for the releases selected by --all or --selector, now and later.
func lockMany(ctx context.Context, a *action) error {
	for _, flag := range []string{"wait", "must-exist"} {
		if a.cmd.Bool(flag) {
			return a.misused(fmt.Errorf("--all and --selector write a policy, which --%s says nothing about", flag))
		}
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	wanted, err := policyOf(c)
	if err != nil {
		return err
	}
	if err := matchesNow(ctx, a, c); err != nil {
		return err
	}
	store := c.helmReleases(a.cmd.String("helmrelease-namespace"), a.cmd.Bool("dry-run"))
	all, err := store.listPolicies(ctx)
	if err != nil {
		return err
	}
	p, action := wanted, "created"
	for _, stored := range all {
		if stored.Name != wanted.Name {
			continue
		}
		if !selectsAs(stored, wanted) {
			return errSelectsOthers(stored)
		}
		p, action = stored, "changed"
	}
	before := p.DeepCopy()
	template := &p.Spec.Template.Spec
	setProtection(template, a)
	noteUnignored(a, template.Ignore, "HelmReleasePolicy "+p.Name)
	template.Ignore = ignoreRules(template.Ignore, a)
	p.Spec.AcceptRecordsOfAnyone = p.Spec.AcceptRecordsOfAnyone || a.cmd.Bool(acceptFlag)
	if action == "changed" && reflect.DeepEqual(before, p) {
		action = "unchanged"
	} else {
		if _, err := confirmReverts(ctx, a, c, begunBy(ctx, a, store, p, all)); err != nil {
			return err
		}
		if p, err = store.putPolicy(ctx, p, store.dryRun); err != nil {
			return err
		}
	}
	if policy.OwnRights(p) {
		a.note("note: %s", policy.Rights(p))
	}
	if len(p.Spec.Template.Spec.ExpectedWriters) > 0 {
		if blind, err := store.list(ctx, trustsAny); err == nil && len(blind) > 0 {
			a.note("note: the operator does not see the users who store revisions; %s", expectingTakesTrust)
		}
	}
	return printChanged(a, []changed{{policy: p, text: fmt.Sprintf("HelmReleasePolicy %s/%s %s: %s",
		store.namespace, p.Name, action, matchText(p.Spec.Match))}})
}

// begunBy returns the HelmReleases of releases that exist now, as a policy makes them, that begin to revert drift. A
// user who may not read what that takes gets a note.
func begunBy(
	ctx context.Context, a *action, store *helmReleases, p *v1alpha1.HelmReleasePolicy,
	all []*v1alpha1.HelmReleasePolicy,
) (begun []*v1alpha1.HelmRelease) {
	releases, err := store.cluster.allCandidates(ctx, store.cluster.scopeOf())
	if err == nil {
		var results []policy.Result
		_, results, _, err = planOf(ctx, store, p, all, releases)
		for _, r := range results {
			if r.Desired != nil && beginsToRevert(r.Existing, r.Desired, a.now()) {
				begun = append(begun, r.Desired)
			}
		}
	}
	if err != nil {
		a.note("note: drift that the policy reverts is not known: %v", err)
	}
	return begun
}

// matchesNow returns an error when no release fits the flags of a new policy now, unless the user may not see that.
func matchesNow(ctx context.Context, a *action, c *connection) error {
	namespace := c.scopeOf()
	matched, err := candidates(ctx, a, c, namespace)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil || len(matched) > 0:
		return err
	}
	reason := fmt.Sprintf("there is no release%s", inNamespace(namespace))
	if text := a.cmd.String("selector"); text != "" {
		reason += " with labels " + text
	}
	return a.empty(ctx, c, errors.New(reason), namespace)
}

// setProtection sets the values of the given flags.
func setProtection(p *v1alpha1.Protection, a *action) {
	if mode := a.cmd.String("mode"); mode != "" {
		p.Mode = v1alpha1.Mode(mode)
	}
	if scope := a.cmd.String("scope"); scope != "" {
		p.Scope = v1alpha1.Scope(scope)
	}
	if guard := a.cmd.String("guard"); guard != "" {
		p.Guard = v1alpha1.Guard(guard)
	}
}
