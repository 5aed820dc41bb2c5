package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// target is a release to be changed by a command.
type target struct {
	key release.Key
	// locks are the HelmReleases of the release: any number for a named release, and one for a selected one.
	locks []*v1alpha1.HelmRelease
	// similar are releases with a HelmRelease and nearly this name, or this name in another namespace; only without
	// locks.
	similar []release.Key
	// others are HelmReleases of the release with other names than that of --name.
	others []string
}

// choose returns the releases selected by arguments and flags, with their HelmReleases. There may be none.
func choose(ctx context.Context, a *action) (*helmReleases, []target, error) {
	if err := checkSelection(a); err != nil {
		return nil, nil, err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	store := c.helmReleases(a.cmd.String("helmrelease-namespace"), a.cmd.Bool("dry-run"))
	all, err := store.list(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if a.cmd.Args().Present() {
		targets, err := c.named(store, all)
		return store, targets, err
	}
	targets, err := c.selected(ctx, all)
	return store, targets, err
}

// named returns the releases named by the arguments, with their HelmReleases among all.
func (c *connection) named(store *helmReleases, all []*v1alpha1.HelmRelease) ([]target, error) {
	locked := map[release.Key]bool{}
	for _, hr := range all {
		locked[keyOf(hr)] = true
	}
	keys, err := c.keys(func(name string) (found []release.Key, _ error) {
		for _, hr := range all {
			if hr.Spec.Release.Name == name {
				found = append(found, keyOf(hr))
			}
		}
		if len(found) == 0 {
			err := fmt.Errorf("no HelmRelease in namespace %s names a release %q", store.namespace, name)
			return nil, unknownName(err, release.Key{Name: name}, locked)
		}
		return found, nil
	})
	var targets []target
	for _, key := range keys {
		t := target{key: key}
		for _, hr := range all {
			switch name := c.cmd.String("name"); {
			case keyOf(hr) != key:
			case name == "" || hr.Name == name:
				t.locks = append(t.locks, hr)
			default:
				t.others = append(t.others, hr.Name)
			}
		}
		if !locked[key] {
			t.similar = inspect.Similar(key, locked)
		}
		targets = append(targets, t)
	}
	return targets, err
}

// selected returns the releases that are selected by flags and named by one of the HelmReleases.
func (c *connection) selected(ctx context.Context, all []*v1alpha1.HelmRelease) ([]target, error) {
	ofHelmReleases, err := parseSelector(c.cmd, helmReleaseSelectorName)
	if err != nil {
		return nil, err
	}
	fits, err := c.labelled(ctx, c.scopeOf())
	if apierrors.IsForbidden(err) {
		return nil, command.Hinted(err,
			"--"+helmReleaseSelectorName+" selects by the labels of the HelmReleases, without the records")
	}
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, hr := range all {
		if fits(keyOf(hr)) && ofHelmReleases.Matches(labels.Set(hr.Labels)) && isOfPolicy(hr, c.cmd.String("name")) {
			targets = append(targets, target{key: keyOf(hr), locks: []*v1alpha1.HelmRelease{hr}})
		}
	}
	return targets, nil
}

// labelled returns a function that reports whether a release is in a namespace, which is empty for all, and has labels
// that match --selector. The records are read only for that flag.
func (c *connection) labelled(ctx context.Context, namespace string) (func(release.Key) bool, error) {
	inScope := func(key release.Key) bool { return namespace == "" || key.Namespace == namespace }
	if c.cmd.String(selectorName) == "" {
		return inScope, nil
	}
	selector, err := parseSelector(c.cmd, selectorName)
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

// nothingChosen is the error for a selection that no HelmRelease fits.
func nothingChosen(ctx context.Context, a *action, store *helmReleases) error {
	var conditions []string
	namespace := store.cluster.scopeOf()
	selector := a.cmd.String(selectorName)
	switch of := inNamespace(namespace); {
	case selector != "":
		conditions = append(conditions, "is for a release"+of+" with labels "+selector)
	case of != "":
		conditions = append(conditions, "is for a release"+of)
	}
	if own := a.cmd.String(helmReleaseSelectorName); own != "" {
		conditions = append(conditions, "has labels "+own)
	}
	err := errors.New(strings.TrimSpace(fmt.Sprintf("no HelmRelease in namespace %s %s", store.namespace,
		strings.Join(conditions, " and "))))
	if n := store.countLabelled(ctx, selector); n > 0 {
		err = command.Hinted(err, fmt.Sprintf("%s with such labels: --%s selects by them", plain.Count(n, "HelmRelease"),
			helmReleaseSelectorName))
	}
	return a.empty(ctx, store.cluster, err, store.namespace, namespace)
}

// nothingSelected is the error for a selection without a release to change, for a reason.
func nothingSelected(ctx context.Context, a *action, store *helmReleases, reason string) error {
	return a.empty(ctx, store.cluster, errors.New(reason), store.namespace, store.cluster.scopeOf())
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

// lockOfTarget returns the only HelmRelease of a target.
func lockOfTarget(
	ctx context.Context, a *action, store *helmReleases, t target,
) (*v1alpha1.HelmRelease, error) {
	switch len(t.locks) {
	case 0:
		return nil, a.empty(ctx, store.cluster, notLocked(a, t, store.namespace), store.namespace, t.key.Namespace)
	case 1:
		return t.locks[0], nil
	}
	return nil, command.Hinted(fmt.Errorf("%s name release %s", plain.Count(len(t.locks), "HelmRelease"), t.key),
		"choose one with --name")
}

// notLocked describes a release without a HelmRelease in a namespace.
func notLocked(a *action, t target, namespace string) error {
	hint := fmt.Sprintf("%s lock %s -n %s locks it; --helmrelease-namespace looks elsewhere", a.name, t.key.Name,
		t.key.Namespace)
	if len(t.similar) > 0 {
		hint = didYouMean(t.key, t.similar)
	}
	if len(t.others) > 0 {
		return command.Hinted(fmt.Errorf("no HelmRelease of that name in namespace %s is for release %s", namespace, t.key),
			"there is "+strings.Join(t.others, ", "))
	}
	return command.Hinted(fmt.Errorf("release %s is not locked: no HelmRelease in namespace %s names it", t.key, namespace), hint)
}
