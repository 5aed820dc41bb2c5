package admit

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/judge"
)

// outdated returns the reason to pass a request about an outdated state of its object; empty for the current state.
//
// The API server carries out a request only if the object has not changed since its question, and else asks again, so
// an outdated request needs no refusal. If the API server has no client certificate, other callers can ask, too. They
// learn nothing about an object that they may not read: they know neither its uid nor its resource version.
func (ad *Admission) outdated(ctx context.Context, q *question) judge.AdmissionReason {
	var objects metadata.ResourceInterface = ad.Metadata.Resource(q.object.GVR)
	if q.object.Namespaced {
		objects = ad.Metadata.Resource(q.object.GVR).Namespace(q.ID.Namespace)
	}
	live, err := objects.Get(ctx, q.ID.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return judge.AdmitOutdated
	case err != nil:
		return judge.AdmitUnknown
	case live.UID != q.Before.GetUID() || live.ResourceVersion != q.Before.GetResourceVersion():
		return judge.AdmitOutdated
	}
	return ""
}
