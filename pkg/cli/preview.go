package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/rules"
)

const previewVerb = "preview"

func policyCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "policy", Category: categoryLook, Usage: "show what a HelmReleasePolicy would do", ArgsUsage: "preview [NAME]",
		Description: "preview lists the releases that a policy matches, from a file or one that is stored: what the policy makes of each, who\n" +
			"has locked it already, how many objects it has, how they differ from the release now, and what enforcing would change.\n" +
			"Releases to change come first, and those in which enforcing would change nothing are counted in a line.\n" +
			"Nothing is written, and neither the operator nor its CustomResourceDefinitions have to be installed.",
		Flags: slices.Concat(clusterFlags("only show releases in this `NAMESPACE`; those of all without it"), contextFlags(), []cli.Flag{
			helmReleaseNamespaceFlag(), allowEmptyFlag(),
			&cli.StringFlag{Name: "filename", Aliases: []string{"f"}, Category: categoryWhat, TakesFile: true,
				Usage: "read the policy from a `FILE` (- for standard input)"},
			outputFlag("table, wide (each release), json or yaml", formatTable, formatWide, formatJSON, formatYAML),
			colorFlag(),
		}),
		Action: a.does(runPolicy),
	}
}

func runPolicy(ctx context.Context, a *action) error {
	var err error
	switch args, file := a.cmd.Args().Slice(), a.cmd.String("filename"); {
	case len(args) == 0 || args[0] != previewVerb:
		err = fmt.Errorf("say what to do: %s policy %s", a.name, previewVerb)
	case len(args) > 2:
		err = fmt.Errorf("unexpected argument %q", args[2])
	case len(args) == 2 && file != "":
		err = errors.New("the name of a policy and --filename exclude each other")
	case len(args) == 1 && file == "":
		err = errors.New("the name of a policy, or --filename, is missing")
	}
	if err != nil {
		return a.misused(err)
	}
	all, err := readContexts(ctx, a, func(a *action) (*previewOut, error) {
		c, err := a.connect(ctx)
		if err != nil {
			return nil, err
		}
		store := c.helmReleases(a.cmd.String("helmrelease-namespace"), false)
		policies, err := store.listPolicies(ctx)
		if err != nil {
			return nil, err
		}
		p, err := previewed(ctx, a, store, policies)
		if err != nil {
			return nil, err
		}
		return previewOf(ctx, a, store, p, policies)
	})
	if err != nil {
		return err
	}
	if err := printPreview(a, all); err != nil {
		return err
	}
	return exitOf(a, all)
}

// previewed returns the policy selected by arguments and flags.
func previewed(
	ctx context.Context, a *action, store *helmReleases, all []*v1alpha1.HelmReleasePolicy,
) (*v1alpha1.HelmReleasePolicy, error) {
	if file := a.cmd.String("filename"); file != "" {
		p, err := readPolicy(a, file, store.namespace)
		if err != nil {
			return nil, err
		}
		return checkedPolicy(ctx, a, store, p, all)
	}
	for _, p := range all {
		if p.Name == a.cmd.Args().Get(1) {
			if f := policyFinding(p); f.Advice != "" {
				a.note("note: %s: %s; %s", f.Subject, f.Message, f.Advice)
			}
			return p, nil
		}
	}
	// Without the right to list it adds nothing: this only improves an error.
	if elsewhere, err := store.cluster.helmReleases("", false).listPolicies(ctx); err == nil {
		for _, p := range elsewhere {
			if p.Name == a.cmd.Args().Get(1) {
				return nil, outside(p, store.namespace)
			}
		}
	}
	err := missingPolicy(store.namespace, a.cmd.Args().Get(1), all)
	if len(all) == 0 {
		err = command.Hinted(err, "-f FILE shows what one would do that is not stored")
	}
	return nil, err
}

// preview returns the effect of a policy on one cluster, and the error for the exit code.
func previewOf(
	ctx context.Context, a *action, store *helmReleases, p *v1alpha1.HelmReleasePolicy,
	all []*v1alpha1.HelmReleasePolicy,
) (*previewOut, error) {
	releases, err := store.cluster.allCandidates(ctx, "")
	if err != nil {
		return nil, err
	}
	summary, results, locks, err := planOf(ctx, store, p, all, releases)
	if err != nil {
		return nil, err
	}
	if summary.Problem.Reason != "" {
		return nil, fmt.Errorf("HelmReleasePolicy %s changes nothing: %s", p.Name, summary.Problem.Message)
	}
	only := a.onlyIn(store.cluster, a.cmd.String("namespace"))
	if only != "" {
		results = slices.DeleteFunc(results, func(r policy.Result) bool { return r.Release.Namespace != only })
	}
	masker, err := newMasker(false)
	if err != nil {
		return nil, err
	}
	compare := &comparing{action: a, source: store.cluster, masker: masker}
	compare.locks = locks
	out := &previewOut{Context: a.context, Policy: p.Name, Mode: string(p.Spec.Template.Spec.Mode),
		Rights: policy.Rights(p), Enforced: policy.Pace(p), Summary: summary.Counts, Rollout: summary.Rollout,
		Releases: []previewRelease{}}
	if out.Mode == "" {
		out.Mode = string(v1alpha1.ModeEnforce)
	}
	failed := false
	for i, r := range results {
		row := previewRelease{Namespace: r.Release.Namespace, Name: r.Release.Name, Outcome: string(r.Outcome),
			By: r.By, Why: r.Why, Held: holds(r)}
		if n := slices.IndexFunc(releases, func(of candidate) bool { return of.key == r.Release }); n >= 0 {
			compare.comparisons = nil
			err := compare.underPolicy(ctx, releases[n], r, a.progress(r.Release, i+1, len(results)))
			if ctx.Err() != nil {
				return nil, err
			}
			failed = row.compared(compare, err) || failed
		}
		out.Releases = append(out.Releases, row)
	}
	switch {
	case failed:
		err = &command.ExitError{Code: command.ExitFailed}
	case len(results) == 0:
		reason := fmt.Errorf("HelmReleasePolicy %s matches no release%s", p.Name, inNamespace(only))
		err = a.empty(ctx, store.cluster, reason, append(slices.Clone(p.Spec.Match.Namespaces), only)...)
	}
	return out, err
}

// holds reports whether the rollout of a policy holds a release because of its drift.
func holds(r policy.Result) bool {
	hr := r.Desired
	if r.Outcome == policy.Keep {
		hr = r.Existing
	}
	return hr != nil && isHeld(hr)
}

// underPolicy compares a release as the policy would: by its template where the policy makes the HelmRelease, and by
// the existing HelmRelease where another one has the release.
func (c *comparing) underPolicy(
	ctx context.Context, of candidate, r policy.Result, progress func(done, all int),
) error {
	hr := r.Desired
	if hr == nil {
		hr = r.Existing
	}
	if hr == nil || r.Outcome == policy.OtherPolicy {
		return c.compare(ctx, of, progress)
	}
	compiled, err := rules.Compile(hr.Spec.IgnoredAt(c.now()))
	if err != nil {
		return fmt.Errorf("spec.template.spec.ignore: %w", err)
	}
	return c.compareWith(ctx, of, inspect.CompareOptions{Masker: c.masker, Progress: progress, Rules: compiled,
		Strict: hr.Spec.Scope == v1alpha1.ScopeStrict})
}

// compared adds the results of a comparison, and reports whether a part could not be compared.
func (r *previewRelease) compared(c *comparing, err error) (failed bool) {
	var nothing *nothingDeployedError
	if errors.As(err, &nothing) {
		r.LeftOut = "no revision is deployed"
		return false
	}
	if err != nil {
		r.Error = plain.Line(err.Error())
		return true
	}
	for _, comparison := range c.comparisons {
		drift, err := releaseDrift(comparison, c.declared[comparison.Release.Key], c.now())
		if err != nil {
			r.Error = err.Error()
			return true
		}
		r.Revision, r.Objects, r.Differences = drift.Revision, drift.Compared+len(drift.Failures), drift.Differences
		failed = failed || drift.Incomplete()
	}
	return failed
}
