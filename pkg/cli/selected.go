package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// selected returns the releases that are selected by flags and named by one of the HelmReleases.
func (c *connection) selected(
	ctx context.Context, cmd *cli.Command, all []*v1alpha1.HelmRelease,
) ([]target, error) {
	ofHelmReleases, err := parseSelector(cmd, helmReleaseSelectorName)
	if err != nil {
		return nil, err
	}
	fits, err := c.labelled(ctx, cmd, c.scopeOf(cmd))
	if apierrors.IsForbidden(err) {
		return nil, command.Hinted(err,
			"--"+helmReleaseSelectorName+" selects by the labels of the HelmReleases, without the records")
	}
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, hr := range all {
		if fits(keyOf(hr)) && ofHelmReleases.Matches(labels.Set(hr.Labels)) && isOfPolicy(hr, cmd.String("name")) {
			targets = append(targets, target{key: keyOf(hr), locks: []*v1alpha1.HelmRelease{hr}})
		}
	}
	return targets, nil
}

// labelled returns a function that reports whether a release is in a namespace, which is empty for all, and has labels
// that match --selector. The records are read only for that flag.
func (c *connection) labelled(
	ctx context.Context, cmd *cli.Command, namespace string,
) (func(release.Key) bool, error) {
	inScope := func(key release.Key) bool { return namespace == "" || key.Namespace == namespace }
	if cmd.String(selectorName) == "" {
		return inScope, nil
	}
	selector, err := parseSelector(cmd, selectorName)
	if err != nil {
		return nil, err
	}
	releases, err := c.allCandidates(ctx, namespace)
	if apierrors.IsForbidden(err) {
		return nil, command.Hinted(err, forbiddenHints(err)...)
	}
	if err != nil {
		return nil, err
	}
	matching := map[release.Key]bool{}
	for _, of := range releases {
		matching[of.key] = selector.Matches(of.labels)
	}
	return func(key release.Key) bool { return matching[key] }, nil
}

// isOfPolicy reports whether the policy of a name made a HelmRelease; true without a name.
func isOfPolicy(hr *v1alpha1.HelmRelease, name string) bool {
	owner := v1alpha1.PolicyOf(hr)
	return name == "" || owner != nil && owner.Name == name
}

// scopeOf returns the namespace of the releases that a command selects; empty for all, and without a cluster.
func (c *connection) scopeOf(cmd *cli.Command) string {
	if c == nil || cmd.Bool("all-namespaces") {
		return ""
	}
	return c.namespace
}

// checkScopes rejects --namespace with --all-namespaces, of which one would be ignored. A namespace of the environment
// is a default. For status and migrate, --all-namespaces is about the namespaces of HelmReleases.
func (a *app) checkScopes(ctx context.Context, cmd *cli.Command) error {
	namespace := cmd.String("namespace")
	if !cmd.Bool("all-namespaces") || namespace == "" || namespace == a.env("HELM_NAMESPACE") ||
		cmd.Name == "status" || cmd.Name == "migrate" {
		return nil
	}
	return command.UsageError(ctx, cmd, errors.New("--namespace and --all-namespaces exclude each other"), true)
}

// nothingChosen is the error for a selection that no HelmRelease fits.
func (a *app) nothingChosen(ctx context.Context, cmd *cli.Command, store *helmReleases) error {
	var conditions []string
	namespace := store.cluster.scopeOf(cmd)
	selector := cmd.String(selectorName)
	switch of := inNamespace(namespace); {
	case selector != "":
		conditions = append(conditions, "is for a release"+of+" with labels "+selector)
	case of != "":
		conditions = append(conditions, "is for a release"+of)
	}
	if own := cmd.String(helmReleaseSelectorName); own != "" {
		conditions = append(conditions, "has labels "+own)
	}
	err := errors.New(strings.TrimSpace(fmt.Sprintf("no HelmRelease in namespace %s %s", store.namespace,
		strings.Join(conditions, " and "))))
	if n := store.countLabelled(ctx, selector); n > 0 {
		err = command.Hinted(err, fmt.Sprintf("%s with such labels: --%s selects by them", plain.Count(n, "HelmRelease"),
			helmReleaseSelectorName))
	}
	return a.empty(ctx, cmd, store.cluster, err, store.namespace, namespace)
}

// countLabelled returns how many HelmReleases have labels that match a selector. It completes an error message, so it
// ignores errors.
func (h *helmReleases) countLabelled(ctx context.Context, selector string) int {
	parsed, err := labels.Parse(selector)
	if err != nil || parsed.Empty() {
		return 0
	}
	found, err := h.list(ctx, func(hr *v1alpha1.HelmRelease) bool { return parsed.Matches(labels.Set(hr.Labels)) })
	if err != nil {
		return 0
	}
	return len(found)
}
