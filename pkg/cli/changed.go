package cli

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// changed is a HelmRelease or a policy changed by a command, with a description of the change.
type changed struct {
	hr     *v1alpha1.HelmRelease
	policy *v1alpha1.HelmReleasePolicy
	text   string
}

// named returns the object as kubectl -o name does.
func (c changed) named() string {
	kind, object := v1alpha1.Kind, metav1.Object(c.hr)
	if c.policy != nil {
		kind, object = v1alpha1.PolicyKind, c.policy
	}
	return fmt.Sprintf("%s.%s/%s", strings.ToLower(kind), v1alpha1.SchemeGroupVersion.Group, object.GetName())
}

// content returns the object as a user would write it.
func (c changed) content() (map[string]any, error) {
	if c.policy != nil {
		return contentOf(c.policy, v1alpha1.PolicyKind)
	}
	return contentOf(c.hr, v1alpha1.Kind)
}

// finish prints the changes, and waits for them if the flags ask for that.
func finish(
	ctx context.Context, a *action, store *helmReleases, done []changed, until waitFor,
) error {
	if err := printChanged(a, done); err != nil {
		return err
	}
	var waiting []*v1alpha1.HelmRelease
	for _, c := range done {
		if c.hr == nil {
			continue
		}
		if a.cmd.Name == "lock" && c.hr.Spec.SuspendedAt(a.now()) {
			a.note("note: the lock is suspended%s; %s resume %s -n %s ends that", report.SuspendedFor(c.hr), a.name,
				c.hr.Spec.Release.Name, c.hr.Spec.Release.Namespace)
			continue
		}
		if a.cmd.Name == "lock" && seesNoWriter(c.hr) {
			a.note("note: the operator does not see the users who store revisions; %s", expectingTakesTrust)
		}
		waiting = append(waiting, c.hr)
	}
	return waitIfAsked(ctx, a, store, waiting, until)
}

// printChanged prints in the format of the output flag, or the texts. As with kubectl, several objects are one List
// in JSON.
func printChanged(a *action, done []changed) error {
	var b strings.Builder
	format := a.cmd.String("output")
	items := make([]map[string]any, len(done))
	for i, c := range done {
		switch format {
		case "":
			text := plain.Line(c.text)
			if a.cmd.Bool("dry-run") {
				text += " (dry run)"
			}
			fmt.Fprintln(&b, text)
		case "name":
			fmt.Fprintln(&b, c.named())
		default:
			content, err := c.content()
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
	return a.write(b.String())
}
