package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const (
	policySection = "policy"
	// policyLimit is how much longer a policy may take to lock releases than as many HelmReleases written by hand.
	policyLimit = 1.3
	// perPolicyRelease is how many objects each of the releases has.
	perPolicyRelease = 10
)

// policies measures one policy for many releases, next to as many HelmReleases written by hand.
func (b *bench) policies(ctx context.Context) (err error) {
	beside := b.newProgram(b.operator.Log, "policies")
	beside.Pprof = false // the operator has the port
	if err := beside.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.Stop()) }()
	w := &world{noFloor: true}
	if err := b.grow(ctx, w, policySection, b.Releases, b.Releases*perPolicyRelease); err != nil {
		return err
	}
	if b.empty, err = b.restingMemory(ctx); err != nil {
		return err
	}
	byHand, err := b.writesOf(func() (time.Duration, error) { return b.lock(ctx, w) }, "by hand", len(w.releases))
	if err != nil {
		return err
	}
	if err := b.unlock(ctx, w); err != nil {
		return err
	}
	progress("a policy for %d releases", len(w.releases))
	byPolicy, err := b.writesOf(func() (time.Duration, error) { return b.lockByPolicy(ctx, w) }, "by policy",
		len(w.releases))
	if err != nil {
		return err
	}
	b.section.against("all releases locked by a policy, next to by hand", "s", byHand.Seconds(), byPolicy.Seconds()).
		ratioAtMost(policyLimit)
	if err := b.lockedMemory(ctx, w, "locked by a policy"); err != nil {
		return err
	}
	return b.changePolicy(ctx, w)
}

// changePolicy measures a change of the template, and the deletion of the policy.
func (b *bench) changePolicy(ctx context.Context, w *world) error {
	policies := b.setup.dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName)).
		Namespace(operatorNamespace)
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	begun := time.Now()
	if _, err := policies.Patch(ctx, policySection, types.MergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"scope":"Strict"}}}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change the template: %w", err)
	}
	all := func() (bool, error) { return b.followed(ctx, len(w.releases)) }
	if err := process.Poll(ctx, 50*time.Millisecond, all); err != nil {
		return fmt.Errorf("wait for the HelmReleases to follow the template: %w", err)
	}
	b.section.plain("a change of the template followed by all HelmReleases", "s", time.Since(begun).Seconds())
	begun = time.Now()
	if err := policies.Delete(ctx, policySection, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the policy: %w", err)
	}
	if _, err := b.releases.wait(ctx, 0); err != nil {
		return err
	}
	b.section.plain("all HelmReleases gone after the deletion of the policy", "s", time.Since(begun).Seconds())
	return nil
}

// followed reports whether n HelmReleases match the template, and the operator has acted on that.
func (b *bench) followed(ctx context.Context, n int) (bool, error) {
	list, err := b.releases.helmReleases().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for i := range list.Items {
		hr, err := helmRelease(&list.Items[i])
		if err != nil {
			return false, err
		}
		if hr.Spec.Scope != v1alpha1.ScopeStrict || hr.Status.ObservedGeneration != hr.Generation || !isReady(hr) {
			return false, nil
		}
	}
	return len(list.Items) == n, nil
}

// lockByPolicy locks the releases of a world by a policy and returns the time until all were Ready.
func (b *bench) lockByPolicy(ctx context.Context, w *world) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begun := time.Now()
	p := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": v1alpha1.PolicyKind,
		"metadata": map[string]any{"name": policySection},
		"spec": map[string]any{"match": map[string]any{"namespaces": []any{policySection + "-*"}},
			"maxReleases": int64(len(w.releases))},
	}}
	_, err := b.setup.dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName)).
		Namespace(operatorNamespace).Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create the policy: %w", err)
	}
	last, err := b.releases.wait(ctx, len(w.releases))
	return last.Sub(begun), err
}
