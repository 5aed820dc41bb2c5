package proof

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// atWork are the statuses of a release while a Helm command runs.
var atWork = []string{release.StatusUninstalling.String(), release.StatusPendingInstall.String(),
	release.StatusPendingUpgrade.String(), release.StatusPendingRollback.String()}

// AtWork lists the releases of a namespace with a record in one storage whose status is that of a running Helm command.
// A malformed record names no release. The answer is no older than the call.
func AtWork(
	ctx context.Context, client metadata.Interface, storage release.Storage, namespace string,
) ([]release.Key, error) {
	owner, err := labels.NewRequirement(release.OwnerLabel, selection.Equals, []string{release.OwnerHelm})
	if err != nil {
		return nil, err
	}
	status, err := labels.NewRequirement(release.StatusLabel, selection.In, atWork)
	if err != nil {
		return nil, err
	}
	options := metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*owner, *status).String(),
		FieldSelector: storage.FieldSelector()}
	return ListMetadata(ctx, client.Resource(storage.GVR()).Namespace(namespace), options,
		func(m *metav1.PartialObjectMetadata) (release.Key, error) {
			rec, err := storage.RecordOf(m)
			if err != nil {
				return release.Key{}, nil //nolint:nilerr // Helm works on nothing by a malformed record
			}
			return rec.Key, nil
		})
}
