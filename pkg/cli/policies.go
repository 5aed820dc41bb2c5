package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
)

// errNoPolicies reports that the API server does not serve HelmReleasePolicies.
var errNoPolicies = fmt.Errorf("the cluster does not know HelmReleasePolicies: the CustomResourceDefinition %s.%s is not "+
	"installed", v1alpha1.PolicyResourceName, v1alpha1.SchemeGroupVersion.Group)

// policies reads and writes the HelmReleasePolicies of one namespace.
func (h *helmReleases) policies() dynamic.ResourceInterface {
	resource := h.cluster.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName))
	if h.namespace == "" {
		return resource
	}
	return resource.Namespace(h.namespace)
}

// listPolicies returns the policies of the namespace; none where the API server does not serve their kind, as an
// operator of before does not.
func (h *helmReleases) listPolicies(ctx context.Context) ([]*v1alpha1.HelmReleasePolicy, error) {
	list, err := h.policies().List(ctx, metav1.ListOptions{})
	if isKindMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, h.apiError("list the HelmReleasePolicies", err)
	}
	var found []*v1alpha1.HelmReleasePolicy
	for i := range list.Items {
		p, err := typed[v1alpha1.HelmReleasePolicy](&list.Items[i])
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// readPolicy reads a policy from a file, - for the standard input.
func readPolicy(a *action, name, namespace string) (*v1alpha1.HelmReleasePolicy, error) {
	content, err := a.readAll(name)
	if err != nil {
		return nil, err
	}
	p := &v1alpha1.HelmReleasePolicy{}
	if err := yaml.UnmarshalStrict(content, p); err != nil {
		return nil, fmt.Errorf("%s holds no HelmReleasePolicy: %w", name, err)
	}
	if p.APIVersion != v1alpha1.SchemeGroupVersion.String() || p.Kind != v1alpha1.PolicyKind {
		return nil, fmt.Errorf("%s holds %s %s, not %s %s", name, p.APIVersion, p.Kind, v1alpha1.SchemeGroupVersion,
			v1alpha1.PolicyKind)
	}
	switch p.Namespace {
	case "", namespace:
	default:
		return nil, outside(p, namespace)
	}
	p.Namespace = namespace
	return p, nil
}

// outside is the error for a policy in another namespace than the operator's.
func outside(p *v1alpha1.HelmReleasePolicy, namespace string) error {
	return command.Hinted(fmt.Errorf("HelmReleasePolicy %s/%s is outside of namespace %s, where it counts", p.Namespace, p.Name,
		namespace), "--helmrelease-namespace names the namespace of another operator")
}

// checked returns a policy as the API server would store it, in the place of the one of its name among all. Where the
// user may not write policies, or the API server does not know them, it is taken as it was written.
func checkedPolicy(
	ctx context.Context, a *action, store *helmReleases, p *v1alpha1.HelmReleasePolicy,
	all []*v1alpha1.HelmReleasePolicy,
) (*v1alpha1.HelmReleasePolicy, error) {
	for _, stored := range all {
		if stored.Name == p.Name {
			p.UID, p.CreationTimestamp, p.ResourceVersion = stored.UID, stored.CreationTimestamp, stored.ResourceVersion
		}
	}
	after, err := store.putPolicy(ctx, p, []string{metav1.DryRunAll})
	switch {
	case err == nil && p.UID == "":
		after.UID, after.CreationTimestamp = "", metav1.Time{} // it is not stored yet
		return after, nil
	case err == nil:
		return after, nil
	case errors.Is(err, errNoPolicies):
		a.note("note: the cluster does not know HelmReleasePolicies, so the API server has not checked this one")
	case apierrors.IsForbidden(err):
		a.note("note: you may not write HelmReleasePolicies, so the API server has not checked this one")
	default:
		return nil, err
	}
	return p, nil
}

// putPolicy creates a policy, or replaces the read one if it has a resourceVersion.
func (h *helmReleases) putPolicy(
	ctx context.Context, p *v1alpha1.HelmReleasePolicy, dryRun []string,
) (*v1alpha1.HelmReleasePolicy, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, fmt.Errorf("encode the HelmReleasePolicy: %w", err)
	}
	delete(content, "status")
	content["apiVersion"], content["kind"] = v1alpha1.SchemeGroupVersion.String(), v1alpha1.PolicyKind
	object := &unstructured.Unstructured{Object: content}
	if p.ResourceVersion == "" {
		object, err = h.policies().Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRun})
	} else {
		object, err = h.policies().Update(ctx, object, metav1.UpdateOptions{FieldManager: fieldManager, DryRun: dryRun})
	}
	if isKindMissing(err) {
		return nil, command.Hinted(errNoPolicies, installation)
	}
	if err != nil {
		return nil, h.apiError(fmt.Sprintf("write HelmReleasePolicy %s/%s", h.namespace, p.Name), err)
	}
	return typed[v1alpha1.HelmReleasePolicy](object)
}

// deletePolicy deletes a policy, and by its owner references the HelmReleases that it made.
func (h *helmReleases) deletePolicy(ctx context.Context, p *v1alpha1.HelmReleasePolicy) error {
	err := h.policies().Delete(ctx, p.Name, metav1.DeleteOptions{DryRun: h.dryRun,
		Preconditions: &metav1.Preconditions{UID: &p.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return h.apiError(fmt.Sprintf("delete HelmReleasePolicy %s/%s", p.Namespace, p.Name), err)
	}
	return nil
}

// missingPolicy returns the error for a policy that is not among all; nil for one that is.
func missingPolicy(namespace, name string, all []*v1alpha1.HelmReleasePolicy) error {
	var names []string
	for _, p := range all {
		if p.Name == name {
			return nil
		}
		names = append(names, p.Name)
	}
	err := fmt.Errorf("there is no HelmReleasePolicy %q%s", name, inNamespace(namespace))
	if near := inspect.Nearest(name, slices.Values(names)); near != "" {
		err = command.Hinted(err, "did you mean "+near+"?")
	} else if len(names) > 0 {
		err = command.Hinted(err, "there is "+some(names))
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: err}
}
