package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/policy"
)

// acceptFlag is the flag for spec.acceptRecordsOfAnyone.
const acceptFlag = "accept-records-of-anyone"

// lockMany writes the HelmReleasePolicy for the releases selected by --all or --selector, now and later.
func (a *app) lockMany(ctx context.Context, cmd *cli.Command) error {
	for _, flag := range []string{"wait", "must-exist"} {
		if cmd.Bool(flag) {
			return command.UsageError(ctx, cmd, fmt.Errorf("--all and --selector write a policy, which --%s says nothing about", flag),
				true)
		}
	}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return err
	}
	wanted, err := policyOf(cmd, c)
	if err != nil {
		return err
	}
	if err := a.matchesNow(ctx, cmd, c); err != nil {
		return err
	}
	store := c.helmReleases(cmd.String("helmrelease-namespace"), cmd.Bool("dry-run"))
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
	setProtection(template, cmd)
	a.noteUnignored(template.Ignore, "HelmReleasePolicy "+p.Name, cmd)
	template.Ignore = ignoreRules(template.Ignore, cmd)
	p.Spec.AcceptRecordsOfAnyone = p.Spec.AcceptRecordsOfAnyone || cmd.Bool(acceptFlag)
	if action == "changed" && reflect.DeepEqual(before, p) {
		action = "unchanged"
	} else {
		if _, err := a.confirmReverts(ctx, cmd, c, a.begunBy(ctx, store, p, all, c.scopeOf(cmd))); err != nil {
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
	return a.printChanged(cmd, []changed{{policy: p, text: fmt.Sprintf("HelmReleasePolicy %s/%s %s: %s",
		store.namespace, p.Name, action, matchText(p.Spec.Match))}})
}

// selectsAs reports whether a policy selects the releases of another one, by the same fields.
func selectsAs(p, other *v1alpha1.HelmReleasePolicy) bool {
	return reflect.DeepEqual(p.Spec.Match, other.Spec.Match) && len(p.Spec.Exclude) == 0
}

func errSelectsOthers(p *v1alpha1.HelmReleasePolicy) error {
	return command.Hinted(fmt.Errorf("HelmReleasePolicy %s/%s selects other releases", p.Namespace, p.Name),
		"choose another --name, or change that policy with kubectl edit")
}

// begunBy returns the HelmReleases of releases that exist now, as a policy makes them, that begin to revert drift. A
// user who may not read what that takes gets a note.
func (a *app) begunBy(
	ctx context.Context, store *helmReleases, p *v1alpha1.HelmReleasePolicy, all []*v1alpha1.HelmReleasePolicy,
	namespace string,
) (begun []*v1alpha1.HelmRelease) {
	releases, err := store.cluster.allCandidates(ctx, namespace)
	if err == nil {
		var results []policy.Result
		_, results, _, err = a.planOf(ctx, store, p, all, releases)
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
func (a *app) matchesNow(ctx context.Context, cmd *cli.Command, c *connection) error {
	namespace := c.scopeOf(cmd)
	matched, err := a.candidates(ctx, cmd, c, namespace)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil || len(matched) > 0:
		return err
	}
	reason := fmt.Sprintf("there is no release%s", inNamespace(namespace))
	if text := cmd.String("selector"); text != "" {
		reason += " with labels " + text
	}
	return a.empty(ctx, cmd, c, errors.New(reason), namespace)
}

// setProtection sets the values of the given flags.
func setProtection(p *v1alpha1.Protection, cmd *cli.Command) {
	if mode := cmd.String("mode"); mode != "" {
		p.Mode = v1alpha1.Mode(mode)
	}
	if scope := cmd.String("scope"); scope != "" {
		p.Scope = v1alpha1.Scope(scope)
	}
	if guard := cmd.String("guard"); guard != "" {
		p.Guard = v1alpha1.Guard(guard)
	}
}

// policyOf returns the policy described by flags, without its template.
func policyOf(cmd *cli.Command, c *connection) (*v1alpha1.HelmReleasePolicy, error) {
	match, name := v1alpha1.ReleaseMatch{Namespaces: []string{c.namespace}}, c.namespace
	if cmd.Bool("all-namespaces") {
		match.Namespaces, name = []string{"*"}, "all"
	}
	if selector := cmd.String("selector"); selector != "" {
		parsed, err := labelSelector(selector)
		if err != nil {
			return nil, command.Hinted(fmt.Errorf("--selector: %w", err), "write it like team=web,tier!=db")
		}
		match.ReleaseSelector = parsed
		name += "-" + selector
	}
	p := &v1alpha1.HelmReleasePolicy{Spec: v1alpha1.HelmReleasePolicySpec{Match: match}}
	p.Namespace, p.Name = cmd.String("helmrelease-namespace"), cmd.String("name")
	if p.Name == "" {
		p.Name = policyName(name)
	}
	return p, nil
}

// labelSelector returns a selector as objects have it, of one as kubectl takes it.
func labelSelector(text string) (*metav1.LabelSelector, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := parsed.Requirements()
	if len(requirements) == 0 {
		return nil, errors.New("it selects by nothing")
	}
	out := &metav1.LabelSelector{}
	for _, r := range requirements {
		e := metav1.LabelSelectorRequirement{Key: r.Key(), Values: r.Values().List()}
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			e.Operator = metav1.LabelSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			e.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			e.Operator, e.Values = metav1.LabelSelectorOpExists, nil
		case selection.DoesNotExist:
			e.Operator, e.Values = metav1.LabelSelectorOpDoesNotExist, nil
		default:
			return nil, fmt.Errorf("a policy cannot select by %q", r.String())
		}
		out.MatchExpressions = append(out.MatchExpressions, e)
	}
	return out, nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// policyName derives a name from a text. Equal flags give an equal name, so a second run finds the policy.
func policyName(text string) string {
	const longest = 63 // it is the value of a label
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(name[:min(len(name), longest)], "-")
}

// matchText describes the releases matched by a policy.
func matchText(m v1alpha1.ReleaseMatch) string {
	text := "all releases"
	if m.ReleaseSelector != nil {
		text = "releases with labels " + metav1.FormatLabelSelector(m.ReleaseSelector)
	}
	if len(m.Namespaces) == 1 && m.Namespaces[0] == "*" {
		return text + " of all namespaces but the operator's, now and later"
	}
	return text + " of namespace " + strings.Join(m.Namespaces, ", ") + ", now and later"
}
