package cli

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// Levels of findings, from harmless to a lack of protection.
const (
	levelOK      = "ok"
	levelNote    = "note"
	levelWarning = "warning"
	levelError   = "error"
)

// finding is one result of check.
type finding struct {
	Level   string `json:"level"`
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Advice is the remedy; empty where none is needed.
	Advice string `json:"advice,omitempty"`
}

func (a *app) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Category: categoryLook, Usage: "look for what keeps releases from being protected, and say what to do",
		Description: "Looks at the API server, the CustomResourceDefinition, the operators, the HelmReleases and HelmReleasePolicies, and the\n" +
			"records of all releases, and writes nothing. What you may not read is a warning; the HelmReleases\n" +
			"and the Lease of an operator are an error then, because protection is not known without them.\n\n" +
			"Exit code 0: nothing keeps releases from being protected; 2: something does, or that is not known (a line with\n" +
			"error); 1: an error.",
		Flags: slices.Concat(clusterFlags("`NAMESPACE` whose releases are looked at; all without it"), contextFlags(), []cli.Flag{
			command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formatText, Category: categoryOutput,
				Usage: "`FORMAT`: text, json or yaml"}, formatText, formatJSON, formatYAML),
			helmReleaseNamespaceFlag(), colorFlag()}),
		Action: a.check,
	}
}

func (a *app) check(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return command.UsageError(ctx, cmd, fmt.Errorf("unexpected argument %q", cmd.Args().First()), true)
	}
	all, err := readContexts(ctx, a, cmd, func(a *app) (*[]finding, error) {
		c, err := a.connect(ctx, cmd)
		if err != nil {
			return nil, err
		}
		if err := c.missing(ctx, a.onlyIn(c, cmd.String("namespace"))); err != nil {
			return nil, err
		}
		found := a.findings(ctx, c, cmd)
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
	if err := a.printFindings(all, cmd); err != nil {
		return err
	}
	return exitOf(a, all)
}

// findings runs all checks, each after its prerequisites.
func (a *app) findings(ctx context.Context, c *connection, cmd *cli.Command) []finding {
	namespace := a.onlyIn(c, cmd.String("namespace"))
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
	usual := types.NamespacedName{Namespace: cmd.String("helmrelease-namespace"), Name: v1alpha1.DefaultControllerName}
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

func (a *app) printFindings(all []located[[]finding], cmd *cli.Command) error {
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
	if format := cmd.String("output"); format != formatText {
		text, err := encodeList(kindFindings, found, contextsOf(all), format)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(a.out, text)
		return err
	}
	style := a.style(cmd)
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

// unreadable is the finding for a failed read.
func unreadable(subject string, err error) finding {
	hints := hintsFor(command.Program, err)
	f := finding{Level: levelWarning, Subject: subject, Message: err.Error()}
	if len(hints) > 0 {
		f.Advice = hints[0]
	}
	return f
}

// unknown is the finding for a failed read without which no user knows whether releases are protected.
func unknown(subject string, err error) finding {
	f := unreadable(subject, err)
	f.Level, f.Message = levelError, "it is not known whether releases are protected: "+f.Message
	return f
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

func lockFinding(hr *v1alpha1.HelmRelease, now time.Time) finding {
	f := finding{Level: levelOK, Subject: fmt.Sprintf("HelmRelease %s/%s", hr.Namespace, hr.Name)}
	ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
	name := fmt.Sprintf("%s -n %s", hr.Spec.Release.Name, hr.Spec.Release.Namespace)
	details := command.Program + " status " + name + " shows more"
	switch {
	case ready == nil:
		f.Level, f.Message = levelError, "no operator has taken it up"
		f.Advice = "an operator takes up the HelmReleases of its own namespace: move it there, or run one in namespace " +
			hr.Namespace
	case ready.Reason == v1alpha1.ReasonInWindow: // as it is wanted
	case report.LockState(hr, now) == report.LockedSuspended:
		_, _, since := report.Ready(hr)
		f.Level, f.Message = levelWarning, fmt.Sprintf("release %s has been suspended for %s,%s, and is not protected",
			hr.Spec.Release, report.Age(since, now), report.SuspendedFor(hr))
		f.Advice = command.Program + " resume " + name + " ends it"
	case meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionStalled):
		f.Level, f.Message = levelError, ready.Reason+": "+ready.Message
		f.Advice = details
		switch ready.Reason {
		case v1alpha1.ReasonRecordNotTrusted:
			if trust := hr.Status.Trust; trust != nil && trust.Message != "" { // without the advice of the condition
				f.Message = ready.Reason + ": " + trust.Message
			}
			f.Advice = command.Program + " accept " + name + " shows what it would do, and accepts it; or have it deployed by a user with the rights"
		case v1alpha1.ReasonForbidden:
			f.Advice = "let the account do what the release takes, which this prints: " + command.Program + " rbac " + name
		}
	case isHeld(hr):
		f.Level, f.Message = levelWarning, fmt.Sprintf("the rollout of policy %s holds it in mode Detect because of drift: %s",
			hr.Labels[v1alpha1.PolicyLabel], ready.Message)
		f.Advice = command.Program + " enforce " + name + " shows and reverts the drift"
	case ready.Status != metav1.ConditionTrue:
		f.Level, f.Message = levelWarning, ready.Reason+": "+ready.Message
		f.Advice = details
		switch ready.Reason {
		case teams.ReasonOperatorNotRunning:
			f.Advice = "start the operator; " + command.Program + " check shows more"
		case v1alpha1.ReasonSecretNotFound:
			f.Advice = "install it with Helm, or end its lock: " + command.Program + " unlock " + name
		}
	case report.GuardMissing(hr):
		f.Level = levelWarning
		f.Message = "its guard is not in force, so changes are only reverted"
		if guarded := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionGuarded); guarded != nil {
			f.Message += ": " + guarded.Message
		}
		f.Advice = details
	case isFlagged(hr):
		f.Level = levelWarning
		f.Message = meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter).Message
		f.Advice = command.Program + " accept " + name + " accepts that record"
	}
	return f
}
