package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/report"
)

func traceCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "trace", Category: categoryLook, Usage: "show which release and which lock an object belongs to",
		ArgsUsage: "KIND/NAME",
		Description: "Finds the release that declares an object, or one of the controllers that own it, such as the Deployment of a Pod: by the\n" +
			"metadata of the object, or by the records of its namespace. It prints the release, its HelmReleases, the drift of the\n" +
			"object, and the next step. KIND is as kubectl takes it: deployment, deploy, deployments.apps; KIND NAME works, too.\n" +
			"It needs no operator and no lock. Parts that may not be read are unknown, with the reason.\n\n" +
			"Exit code 0: a release declares the object; 5: none does; 1: an error, also when that is unknown.",
		Flags: slices.Concat(clusterFlags("`NAMESPACE` of the object, and of the records that are searched; that of the kubeconfig's context without it"),
			[]cli.Flag{helmReleaseNamespaceFlag(),
				outputFlag("text, json or yaml", formatText, formatJSON, formatYAML)}),
		Action: a.does(runTrace),
	}
}

func runTrace(ctx context.Context, a *action) error {
	kind, name, err := tracedArguments(a)
	if err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	t := &tracer{action: a, connection: c, out: traced{HelmReleases: []tracedLock{}}}
	if err := t.find(ctx, kind, name); err != nil {
		return err
	}
	from := t.origin(ctx)
	if from != nil {
		t.out.Release = from.out()
		t.locks(ctx, from)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.out.Advice = t.advice(from)
	if err := t.print(a.cmd.String("output")); err != nil {
		return err
	}
	return t.exit(ctx, from)
}

func (t *tracer) print(format string) error {
	text := t.out.text()
	if format != formatText {
		var err error
		if text, err = encodeList(kindTraces, []traced{t.out}, nil, format); err != nil {
			return err
		}
	}
	return t.action.write(text)
}

// exit returns the error for the exit code.
func (t *tracer) exit(ctx context.Context, from *origin) error {
	id := t.links[0].id
	switch {
	case from != nil && (from.declares == answerYes || from.declares == answerHook):
		return nil
	case from != nil && from.declares == answerUnknown:
		return &command.ExitError{Code: command.ExitFailed, Err: from.err}
	case t.unread != nil:
		return &command.ExitError{Code: command.ExitFailed, Err: t.unread}
	case t.out.Object.Exists == answerUnknown:
		return &command.ExitError{Code: command.ExitFailed, Err: t.links[0].err}
	case t.out.Object.Exists == answerNo:
		if missing := t.missing(ctx, id.Namespace); missing != nil {
			return missing
		}
		err := fmt.Errorf("%s does not exist, and no release%s declares it", id, inNamespace(t.searched()))
		if near := t.nearest(ctx); near != "" {
			err = command.Hinted(err, "did you mean "+near+"?")
		}
		return &command.ExitError{Code: command.ExitEmpty, Err: err}
	}
	err := fmt.Errorf("no release%s declares %s", inNamespace(t.searched()), id)
	return &command.ExitError{Code: command.ExitEmpty, Err: err}
}

// advice returns the next step.
func (t *tracer) advice(of *origin) string {
	if of == nil || of.declares == answerUnknown {
		err := t.unread
		if of != nil {
			err = of.err
		}
		if err == nil {
			return "none: Helm does not manage the object, and no lock protects it"
		}
		return t.remedy(err)
	}
	name := quoted(of.key.Name) + " -n " + of.key.Namespace
	switch {
	case of.declares == answerHook:
		return "change the hook in the chart: no lock protects the objects of hooks"
	case of.exists == answerNo:
		return "none: Helm knows no such release, and no lock protects the object"
	case of.declares == answerNo:
		return t.action.name + " inspect " + name + " --manifest shows what the release declares; the object is left from an earlier revision, or its metadata is forged"
	case t.unreadLocks != nil:
		return t.remedy(t.unreadLocks)
	case len(t.out.HelmReleases) == 0:
		return t.action.name + " lock " + name + " locks the release"
	}
	for i := range t.out.HelmReleases {
		if l := &t.out.HelmReleases[i]; l.Operator == operatorStopped {
			return fmt.Sprintf("start the operator: nothing is reverted now; %s check -n %s shows more", t.action.name, of.key.Namespace)
		} else if l.advice != "" {
			return l.advice
		}
	}
	return t.change(of, name)
}

// remedy returns the way out of an error.
func (t *tracer) remedy(err error) string {
	if hints := hintsFor(t.action.name, err); len(hints) > 0 {
		return hints[0]
	}
	return "try again as a user who may read it"
}

// change returns how to change an object of a release with a HelmRelease that acts as specified.
func (t *tracer) change(of *origin, name string) string {
	suspend := fmt.Sprintf("%s suspend %s --for 30m allows changes at once", t.action.name, name)
	switch {
	case t.out.HelmReleases[0].Locked == report.LockedDetect:
		return t.action.name + " lock " + name + " --mode Enforce has the operator revert changes"
	case t.out.Drift != nil && t.out.Drift.State == driftDrifted:
		return fmt.Sprintf("%s values %s shows the Helm values that keep the change; %s", t.action.name, name, suspend)
	}
	object := strings.ToLower(of.at.id.Kind) + "/" + of.at.id.Name
	return fmt.Sprintf("%s values %s %s PATH=VALUE shows how to change it with Helm; %s", t.action.name, name, quoted(object), suspend)
}
