package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// changed is a HelmRelease changed by a command, with a description of the change.
type changed struct {
	hr   *v1alpha1.HelmRelease
	text string
}

// finish prints the changes, and waits for them if the flags ask for that.
func (a *app) finish(
	ctx context.Context, cmd *cli.Command, store *helmReleases, done []changed, until waitFor,
) error {
	if err := a.printChanged(cmd, done); err != nil {
		return err
	}
	var waiting []*v1alpha1.HelmRelease
	for _, c := range done {
		if cmd.Name == "lock" && c.hr.Spec.SuspendedAt(a.now()) {
			a.note("note: the lock is suspended%s; %s resume %s -n %s ends that", report.SuspendedFor(c.hr), a.name,
				c.hr.Spec.Release.Name, c.hr.Spec.Release.Namespace)
			continue
		}
		waiting = append(waiting, c.hr)
	}
	return a.waitIfAsked(ctx, cmd, store, waiting, until)
}

// printChanged prints in the format of the output flag, or the texts. As with kubectl, several objects are one List
// in JSON.
func (a *app) printChanged(cmd *cli.Command, done []changed) error {
	var b strings.Builder
	format := cmd.String("output")
	items := make([]map[string]any, len(done))
	for i, c := range done {
		switch format {
		case "":
			text := plain.Line(c.text)
			if cmd.Bool("dry-run") {
				text += " (dry run)"
			}
			fmt.Fprintln(&b, text)
		case "name":
			fmt.Fprintf(&b, "%s.%s/%s\n", strings.ToLower(v1alpha1.Kind), v1alpha1.SchemeGroupVersion.Group, c.hr.Name)
		default:
			content, err := contentOf(c.hr)
			if err != nil {
				return err
			}
			items[i] = content
		}
	}
	if format == formatYAML || format == formatJSON {
		text, err := encodeObjects(items, format)
		if err != nil {
			return err
		}
		b.WriteString(text)
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}
