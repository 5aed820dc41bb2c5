package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/release"
)

// fieldManager is the field manager of the commands' writes to HelmReleases.
const fieldManager = "helm-locker-cli"

// helmReleases reads and writes the HelmReleases of one namespace, or reads those of all when it is empty.
type helmReleases struct {
	namespace string
	client    dynamic.ResourceInterface
	cluster   *connection
	// dryRun has the API server do everything but store the result.
	dryRun []string
}

func (c *connection) helmReleases(namespace string, dryRun bool) *helmReleases {
	h := &helmReleases{
		namespace: namespace, cluster: c, client: c.Dynamic.Resource(
			v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.HelmReleaseResourceName),
		).Namespace(namespace),
	}
	if dryRun {
		h.dryRun = []string{metav1.DryRunAll}
	}
	return h
}

// installation describes the installation of the CustomResourceDefinition and the operator.
const installation = "install the operator, which brings it: helm install helm-locker charts/helm-locker -n " +
	v1alpha1.DefaultNamespace + " --create-namespace"

// errNoHelmReleases reports that the API server does not serve HelmReleases.
var errNoHelmReleases = fmt.Errorf("the cluster does not know HelmReleases: the CustomResourceDefinition %s.%s is not "+
	"installed", v1alpha1.HelmReleaseResourceName, v1alpha1.SchemeGroupVersion.Group)

// apiError adds the user's remedy to an error of the API server.
func (h *helmReleases) apiError(doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	switch {
	case isKindMissing(err):
		return command.Hinted(errNoHelmReleases, installation)
	case apierrors.IsNotFound(err) && isAbout(err, "namespaces"):
		return command.Hinted(fmt.Errorf("namespace %q does not exist", h.namespace), installation,
			"or name the namespace that your operator manages with --helmrelease-namespace")
	}
	return err
}

// isKindMissing reports whether the API server does not serve HelmReleases. A missing object is another error: it
// has a name.
func isKindMissing(err error) bool {
	return apierrors.IsNotFound(err) && !isAbout(err, "namespaces") && !isAbout(err, v1alpha1.HelmReleaseResourceName) &&
		!isAbout(err, v1alpha1.PolicyResourceName)
}

// isAbout reports whether an error of the API server is about a named object of a resource.
func isAbout(err error, resource string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == resource && details.Name != ""
}

// get reads an object of the API.
func get[T any](ctx context.Context, client dynamic.ResourceInterface, name string) (*T, error) {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return typed[T](object)
}

// typed decodes an object of the API.
func typed[T any](object *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		return nil, fmt.Errorf("%s %s/%s is of another version: %w", object.GetKind(), object.GetNamespace(),
			object.GetName(), err)
	}
	return out, nil
}

// list returns the HelmReleases for which keep returns true, all when it is nil. They are without ignore rules that
// have ended, so that the next change of their rules takes these out.
func (h *helmReleases) list(
	ctx context.Context, keep func(*v1alpha1.HelmRelease) bool,
) ([]*v1alpha1.HelmRelease, error) {
	list, err := h.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, h.apiError("list the HelmReleases", err)
	}
	var found []*v1alpha1.HelmRelease
	for i := range list.Items {
		hr, err := typed[v1alpha1.HelmRelease](&list.Items[i])
		if err != nil {
			return nil, err
		}
		hr.Spec.Ignore = hr.Spec.IgnoredAt(h.cluster.clock())
		if keep == nil || keep(hr) {
			found = append(found, hr)
		}
	}
	return found, nil
}

func keyOf(hr *v1alpha1.HelmRelease) release.Key {
	return release.Key{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
}

func (h *helmReleases) create(ctx context.Context, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	if err != nil {
		return nil, fmt.Errorf("encode the HelmRelease: %w", err)
	}
	delete(content, "status")
	created, err := h.client.Create(ctx, &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{FieldManager: fieldManager, DryRun: h.dryRun})
	if err != nil {
		return nil, h.apiError(fmt.Sprintf("create HelmRelease %s/%s", h.namespace, hr.Name), err)
	}
	return typed[v1alpha1.HelmRelease](created)
}

// patch changes a HelmRelease by a JSON merge patch, if it has not changed since it was read.
func (h *helmReleases) patch(
	ctx context.Context, hr *v1alpha1.HelmRelease, metadata, spec map[string]any,
) (*v1alpha1.HelmRelease, error) {
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"], metadata["uid"] = hr.ResourceVersion, hr.UID
	body, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("encode a patch: %w", err)
	}
	patched, err := h.client.Patch(ctx, hr.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: fieldManager, DryRun: h.dryRun})
	if err != nil {
		return nil, h.apiError(fmt.Sprintf("change HelmRelease %s/%s", hr.Namespace, hr.Name), err)
	}
	return typed[v1alpha1.HelmRelease](patched)
}

// update changes a HelmRelease by do. After a conflict, as the operator writes to HelmReleases, too, it is read and
// changed again.
func (h *helmReleases) update(
	ctx context.Context, hr *v1alpha1.HelmRelease,
	do func(*v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error),
) (*v1alpha1.HelmRelease, error) {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		after, err := do(hr)
		if err == nil {
			hr = after
			return nil
		}
		if apierrors.IsConflict(err) {
			object, getErr := h.client.Get(ctx, hr.Name, metav1.GetOptions{})
			if getErr != nil {
				return h.apiError(fmt.Sprintf("get HelmRelease %s/%s", hr.Namespace, hr.Name), getErr)
			}
			fresh, getErr := typed[v1alpha1.HelmRelease](object)
			if getErr != nil {
				return getErr
			}
			if keyOf(fresh) != keyOf(hr) {
				return fmt.Errorf("HelmRelease %s/%s names another release now", hr.Namespace, hr.Name)
			}
			hr = fresh
		}
		return err
	})
	return hr, err
}

func (h *helmReleases) delete(ctx context.Context, hr *v1alpha1.HelmRelease) error {
	err := h.client.Delete(ctx, hr.Name, metav1.DeleteOptions{DryRun: h.dryRun,
		Preconditions: &metav1.Preconditions{UID: &hr.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return h.apiError(fmt.Sprintf("delete HelmRelease %s/%s", hr.Namespace, hr.Name), err)
	}
	return nil
}

// isHeld reports whether a rollout holds a release in mode Detect because of its drift.
func isHeld(hr *v1alpha1.HelmRelease) bool {
	return hr.Annotations[v1alpha1.HeldSinceAnnotation] != "" && hr.Spec.Mode == v1alpha1.ModeDetect
}

// isFlagged reports whether an unexpected user deployed a revision.
func isFlagged(hr *v1alpha1.HelmRelease) bool {
	return meta.IsStatusConditionFalse(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter)
}

// seesNoWriter reports whether the operator of a HelmRelease does not see the users who store revisions.
func seesNoWriter(hr *v1alpha1.HelmRelease) bool {
	c := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter)
	return c != nil && c.Reason == v1alpha1.ReasonGuardNotServed
}

// trustsAny reports whether the operator of a HelmRelease enforces the records of any writer.
func trustsAny(hr *v1alpha1.HelmRelease) bool {
	return hr.Status.Trust != nil && hr.Status.Trust.State == v1alpha1.TrustStateAny
}

// expectingTakesTrust is the remedy for spec.expectedWriters that no operator can judge.
const expectingTakesTrust = "spec.expectedWriters takes trust.records=Witnessed in the values of the chart"
