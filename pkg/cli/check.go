package cli

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
)

func checkCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "check", Category: categoryLook, Usage: "look for what keeps releases from being protected, and say what to do",
		Description: "Looks at the API server, the CustomResourceDefinition, the operators, the HelmReleases and HelmReleasePolicies, and the\n" +
			"records of all releases, and writes nothing. What you may not read is a warning; the HelmReleases\n" +
			"and the Lease of an operator are an error then, because protection is not known without them.\n\n" +
			"Exit code 0: nothing keeps releases from being protected; 2: something does, or that is not known (a line with\n" +
			"error); 1: an error.",
		Flags: slices.Concat(clusterFlags("`NAMESPACE` whose releases are looked at; all without it"), contextFlags(), []cli.Flag{
			outputFlag("text, json or yaml", formatText, formatJSON, formatYAML),
			helmReleaseNamespaceFlag(), colorFlag()}),
		Action: a.does(runCheck),
	}
}

func runCheck(ctx context.Context, a *action) error {
	if a.cmd.Args().Present() {
		return a.misused(fmt.Errorf("unexpected argument %q", a.cmd.Args().First()))
	}
	all, err := readContexts(ctx, a, func(a *action) (*[]finding, error) {
		c, err := a.connect(ctx)
		if err != nil {
			return nil, err
		}
		if err := c.missing(ctx, a.onlyIn(c, a.cmd.String("namespace"))); err != nil {
			return nil, err
		}
		found := allFindings(ctx, a, c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if slices.ContainsFunc(found, func(f finding) bool { return f.Level == levelError }) {
			err = &command.ExitError{Code: command.ExitFound}
		}
		return &found, err
	})
	if err != nil {
		return err
	}
	if err := printFindings(a, all); err != nil {
		return err
	}
	return exitOf(a, all)
}

// findings runs all checks, each after its prerequisites.
func allFindings(ctx context.Context, a *action, c *connection) []finding {
	namespace := a.onlyIn(c, a.cmd.String("namespace"))
	found := []finding{serverFinding(c), definitionFinding(ctx, c)}
	if found[1].Level == levelError {
		return found
	}
	locks, err := c.helmReleases("", false).list(ctx, nil)
	if err != nil {
		return append(found, unknown("HelmReleases", err))
	}
	if namespace != "" {
		locks = slices.DeleteFunc(locks, func(hr *v1alpha1.HelmRelease) bool {
			return hr.Spec.Release.Namespace != namespace
		})
	}
	usual := types.NamespacedName{Namespace: a.cmd.String("helmrelease-namespace"), Name: v1alpha1.DefaultControllerName}
	operators, running, gone := operatorFindings(ctx, leases{c: c, now: a.now}, locks, usual)
	known, notes := withoutNew(locks, running, a.now())
	found = slices.Concat(found, operators, lockFindings(known, gone, a.now()), notes, ruleFindings(ctx, c, locks))
	var policiesIn []string
	if namespace != "" {
		policiesIn = []string{usual.Namespace, namespace}
	}
	found = append(found, trustFindings(locks)...)
	found = append(found, chartFindings(ctx, c, locks)...)
	found = append(found, policyFindings(ctx, c, policiesIn...)...)
	return append(found, recordFindings(ctx, c, namespace, locks)...)
}

// locatedFinding is a finding as JSON or YAML, with the context for several clusters.
type locatedFinding struct {
	Context string `json:"context,omitempty"`
	finding
}

func printFindings(a *action, all []located[[]finding]) error {
	var found []locatedFinding
	widest := 0
	for _, l := range all {
		if l.read == nil {
			continue
		}
		widest = max(widest, utf8.RuneCountInString(plain.Line(l.Name)))
		for _, f := range *l.read {
			f.Message, f.Advice = inContext(l.Name, f.Message), inContext(l.Name, f.Advice)
			found = append(found, locatedFinding{l.Name, f})
		}
	}
	if format := a.cmd.String("output"); format != formatText {
		text, err := encodeList(kindFindings, found, contextsOf(all), format)
		if err != nil {
			return err
		}
		return a.write(text)
	}
	style := a.style()
	paint := map[string]func(string) string{levelOK: style.Green, levelNote: style.Cyan, levelWarning: style.Yellow,
		levelError: style.Red}
	for _, f := range found {
		head := ""
		if f.Context != "" {
			head = fmt.Sprintf("%-*s  ", widest, plain.Line(f.Context))
		}
		level := paint[f.Level](fmt.Sprintf("%-8s", f.Level))
		if _, err := fmt.Fprintf(a.out, "%s%s %s: %s\n", head, level, plain.Line(f.Subject), plain.Line(f.Message)); err != nil {
			return err
		}
		if f.Advice != "" {
			if _, err := fmt.Fprintf(a.out, "%*s%s\n", utf8.RuneCountInString(head)+9, "", plain.Line(f.Advice)); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeUp is the time that a running operator may need to take up a HelmRelease.
const takeUp = 30 * time.Second

// withoutNew returns the HelmReleases without those that were created just now in the namespace of a running operator,
// which has not taken them up yet, and notes about those.
func withoutNew(
	locks []*v1alpha1.HelmRelease, running []types.NamespacedName, now time.Time,
) (rest []*v1alpha1.HelmRelease, notes []finding) {
	for _, hr := range locks {
		ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
		if ready != nil || now.Sub(hr.CreationTimestamp.Time) > takeUp ||
			!slices.ContainsFunc(running, func(o types.NamespacedName) bool { return o.Namespace == hr.Namespace }) {
			rest = append(rest, hr)
			continue
		}
		notes = append(notes, finding{levelNote, fmt.Sprintf("HelmRelease %s/%s", hr.Namespace, hr.Name),
			"the operator has not taken it up yet: it was created just now", ""})
	}
	return rest, notes
}

// lockFindings reports HelmReleases that do not act as specified, and suspensions. The status of a HelmRelease is
// outdated when its operator is among gone.
func lockFindings(locks []*v1alpha1.HelmRelease, gone []types.NamespacedName, now time.Time) []finding {
	const subject = "HelmReleases"
	var found, summary []finding
	ready, unattended := 0, 0
	for _, hr := range locks {
		operator, _ := leaseOf(hr)
		switch f := lockFinding(hr, now); {
		case f.Level != levelOK:
			found = append(found, f)
		case slices.Contains(gone, operator):
			unattended++
		default:
			ready++
		}
	}
	if ready > 0 {
		message := plain.Count(ready, "release") + " locked, or watched as wanted"
		summary = append(summary, finding{levelOK, subject, message, ""})
	}
	if unattended > 0 {
		message := plain.Count(unattended, "release") + " not protected now, because the operator does not run"
		summary = append(summary, finding{levelError, subject, message, ""})
	}
	return append(summary, found...)
}
