package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/version"
)

func versionCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "version", Category: categorySetUp, Usage: "print the versions of this program and of the operators",
		Description: "The operators are those of the HelmReleases, or the usual one without any; each has its version as a label of its Lease.\n" +
			"A cluster that does not answer is an error; --client needs none.",
		Flags: slices.Concat(command.Pick(clusterFlags(""), "kubeconfig", "context", "as", "as-group", "request-timeout"), []cli.Flag{
			helmReleaseNamespaceFlag(),
			&cli.BoolFlag{Name: "client", Category: categoryWhat, Usage: "only the version of this program"},
			outputFlag("text, json or yaml", formatText, formatJSON, formatYAML)}),
		Action: command.NoArguments(a.does(runVersion)),
	}
}

// Components of the versions.
const (
	componentClient   = "client"
	componentOperator = "operator"
)

// versionOut is the version of a component as JSON or YAML. Its fields are part of the command's interface.
type versionOut struct {
	Component string `json:"component"`
	// Name is the namespace and the name of the Lease of an operator.
	Name string `json:"name,omitempty"`
	// Version is unknown for an operator that does not announce it.
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	// Running reports whether an operator runs; absent for the client.
	Running *bool `json:"running,omitempty"`
}

func runVersion(ctx context.Context, a *action) error {
	found := []versionOut{{Component: componentClient, Version: version.Version, Commit: version.Commit,
		Date: version.Date}}
	var failed error
	if !a.cmd.Bool("client") {
		var operators []versionOut
		operators, failed = operatorVersions(ctx, a)
		found = append(found, operators...)
	}
	text := versionText(found)
	if format := a.cmd.String("output"); format != formatText {
		var err error
		if text, err = encodeList(kindVersions, found, nil, format); err != nil {
			return err
		}
	}
	if err := a.write(text); err != nil {
		return err
	}
	return failed
}

// operatorVersions returns the versions of the operators of a namespace. The versions that were read are returned with
// an error, too.
func operatorVersions(ctx context.Context, a *action) (found []versionOut, err error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	namespace := a.cmd.String("helmrelease-namespace")
	locks, err := c.helmReleases(namespace, false).list(ctx, nil)
	if err != nil && !apierrors.IsForbidden(err) && !errors.Is(err, errNoHelmReleases) {
		return nil, err
	}
	usual := types.NamespacedName{Namespace: namespace, Name: v1alpha1.DefaultControllerName}
	l := leases{c: c, now: a.now}
	for _, key := range operatorsOf(locks, usual) {
		of, err := l.get(ctx, key)
		if apierrors.IsNotFound(err) {
			a.note("note: no operator %s has run in namespace %s, or it runs without leader election", key.Name, key.Namespace)
			continue
		}
		if err != nil {
			return found, err
		}
		_, gone := inspect.LastSeen(of.Spec, a.now())
		running := !gone
		announced := strings.ReplaceAll(of.Labels[lease.VersionLabel], "_", "+")
		found = append(found, versionOut{Component: componentOperator, Name: key.String(),
			Version: cmp.Or(announced, unknownVersion), Running: &running})
	}
	return found, nil
}

// unknownVersion is the version of an operator that does not announce it.
const unknownVersion = "unknown"

// versionText returns a line for each component.
func versionText(all []versionOut) string {
	var b strings.Builder
	for _, v := range all {
		switch {
		case v.Component == componentClient:
			fmt.Fprintf(&b, "%s %s\n", command.Program, version.String())
		case *v.Running:
			fmt.Fprintf(&b, "operator %s %s\n", plain.Line(v.Name), plain.Line(v.Version))
		default:
			fmt.Fprintf(&b, "operator %s %s (it does not run)\n", plain.Line(v.Name), plain.Line(v.Version))
		}
	}
	return b.String()
}
