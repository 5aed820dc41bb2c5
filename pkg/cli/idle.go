package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// idlePaths describes the paths of ignore rules that leave nothing alone in the objects of a release: misspelt ones,
// which resemble a field, and others. With scope Strict a path can be that of an addition. An invalid rule is left to
// the operator, which reports it.
func idlePaths(hr *v1alpha1.HelmRelease, objects []manifest.Object) (misspelt, others []string) {
	strict := hr.Spec.Scope == v1alpha1.ScopeStrict
	for _, rule := range hr.Spec.Ignore {
		for _, path := range rule.Paths {
			use, err := useOf(path, rule.Target, objects)
			switch {
			case err != nil || use.declared:
			case !use.possible && use.near != "":
				misspelt = append(misspelt, fmt.Sprintf("ignores %s, which is no field of its objects; is it %s?", path, use.near))
			case !strict || !use.possible && !use.unknown:
				others = append(others, fmt.Sprintf("ignores %s, which none of its objects declares now", path))
			}
		}
	}
	return misspelt, others
}

// idleOf returns idlePaths for the objects of the newest revision. There are none for a release that does not exist, or
// whose record the user may not read.
func (c *connection) idleOf(ctx context.Context, hr *v1alpha1.HelmRelease) (misspelt, others []string, err error) {
	if len(hr.Spec.Ignore) == 0 {
		return nil, nil, nil
	}
	var objects []manifest.Object
	record, err := c.Find(ctx, keyOf(hr), 0)
	if err == nil {
		objects, err = c.objectsOf(ctx, record)
	}
	var missing *inspect.NotFoundError
	if errors.As(err, &missing) || apierrors.IsForbidden(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	misspelt, others = idlePaths(hr, objects)
	return misspelt, others, nil
}

// noteIdle names the paths that HelmReleases ignore without effect. The error is that of ctx.
func (a *app) noteIdle(ctx context.Context, c *connection, found []*v1alpha1.HelmRelease) error {
	for _, hr := range found {
		misspelt, others, err := c.idleOf(ctx, hr)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.note("note: the ignore rules of HelmRelease %s/%s were not checked: %v", hr.Namespace, hr.Name, err)
		}
		for _, text := range append(misspelt, others...) {
			a.note("note: HelmRelease %s/%s %s", hr.Namespace, hr.Name, text)
		}
	}
	return nil
}

// ruleFindings reports the paths that HelmReleases ignore without effect. A policy's rules are for many releases, so
// those of its HelmReleases are not expected to apply to each.
func ruleFindings(ctx context.Context, c *connection, locks []*v1alpha1.HelmRelease) []finding {
	var found []finding
	for _, hr := range locks {
		if v1alpha1.PolicyOf(hr) != nil {
			continue
		}
		subject := fmt.Sprintf("HelmRelease %s/%s", hr.Namespace, hr.Name)
		misspelt, others, err := c.idleOf(ctx, hr)
		if err != nil {
			unchecked := "its ignore rules were not checked: " + err.Error()
			found = append(found, finding{levelWarning, subject, unchecked, ""})
		}
		for _, text := range misspelt {
			found = append(found, finding{levelWarning, subject, "it " + text, "kubectl edit changes spec.ignore"})
		}
		for _, text := range others {
			found = append(found, finding{levelNote, subject, "it " + text, ""})
		}
	}
	return found
}
