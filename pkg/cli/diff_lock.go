package cli

import (
	"context"
	"errors"
	"fmt"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// locksOf returns the HelmReleases whose rules apply to the comparison. There are none without the operator. hidden is
// the error when they could not be read, such as that of a user without the right to list them.
func locksOf(
	ctx context.Context, a *action, source inspect.Source,
) (locks []*v1alpha1.HelmRelease, hidden error) {
	c, ok := source.(*connection)
	if !ok {
		return nil, nil
	}
	locks, err := c.helmReleases(a.cmd.String("helmrelease-namespace"), false).list(ctx, nil)
	if errors.Is(err, errNoHelmReleases) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	operators := leases{c: c, now: a.now}.ended(ctx, locks)
	for _, hr := range locks {
		outdate(hr, operators)
	}
	return locks, nil
}

// asLocked gives the comparison of a release the scope and the ignore rules of its HelmRelease, if there is one.
func asLocked(
	a *action, locks []*v1alpha1.HelmRelease, key release.Key, options *inspect.CompareOptions,
) error {
	for _, hr := range locks {
		if keyOf(hr) != key {
			continue
		}
		options.Strict = options.Strict || hr.Spec.Scope == v1alpha1.ScopeStrict
		if a.cmd.Bool("no-ignore") || len(hr.Spec.Ignore) == 0 {
			continue
		}
		compiled, err := rules.Compile(hr.Spec.Ignore)
		if err != nil {
			return command.Hinted(fmt.Errorf("HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err),
				"--no-ignore compares without its rules")
		}
		options.Rules = compiled
		a.note("note: HelmRelease %s/%s leaves fields alone; --no-ignore compares them, too", hr.Namespace, hr.Name)
	}
	return nil
}
