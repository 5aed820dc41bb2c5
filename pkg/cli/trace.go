package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/report"
)

func (a *app) traceCommand() *cli.Command {
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
				command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formatText, Category: categoryOutput,
					Usage: "`FORMAT`: text, json or yaml"}, formatText, formatJSON, formatYAML)}),
		Action: a.trace,
	}
}

// Answers of trace to a question, beside yes and no.
const (
	answerYes     = "yes"
	answerNo      = "no"
	answerUnknown = "unknown"
	// answerHook is for an object that Helm creates as a hook.
	answerHook = "hook"
)

// traced is the answer of trace as JSON or YAML. Its fields are part of the command's interface.
type traced struct {
	Object tracedObject `json:"object"`
	// Owners are the controllers of the object: its own, the owner's own, and so on.
	Owners []report.Object `json:"owners,omitempty"`
	// OwnersUnknown is the reason why the next owner could not be read.
	OwnersUnknown string         `json:"ownersUnknown,omitempty"`
	Release       *tracedRelease `json:"release,omitempty"`
	HelmReleases  []tracedLock   `json:"helmReleases"`
	// HelmReleasesUnknown is the reason why the HelmReleases could not be read.
	HelmReleasesUnknown string       `json:"helmReleasesUnknown,omitempty"`
	Drift               *tracedDrift `json:"drift,omitempty"`
	Advice              string       `json:"advice"`
}

// tracedObject is the object of the command line.
type tracedObject struct {
	report.Object
	// Exists is yes, no or unknown, for Reason.
	Exists string `json:"exists"`
	Reason string `json:"reason,omitempty"`
}

// tracer traces one object.
type tracer struct {
	*app
	*connection
	cmd *cli.Command
	// links are the object and its owners.
	links []link
	// unread is the first error that kept a record from being read.
	unread error
	// unreadLocks is the error that kept the HelmReleases from being read.
	unreadLocks error
	out         traced
}

func (a *app) trace(ctx context.Context, cmd *cli.Command) error {
	kind, name, err := tracedArguments(ctx, cmd)
	if err != nil {
		return err
	}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return err
	}
	t := &tracer{app: a, connection: c, cmd: cmd, out: traced{HelmReleases: []tracedLock{}}}
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
	if err := t.print(cmd.String("output")); err != nil {
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
	_, err := io.WriteString(t.app.out, text)
	return err
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
