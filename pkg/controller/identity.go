package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/judge"
)

// outdated returns the reason why a request passes that is not about its object as that is now; empty for one that is.
//
// The API server carries out a request only if the object has not changed since it asked, and else asks again, so such
// a request needs no refusal. And callers that are not the API server, where it has no client certificate, learn
// nothing of an object that they may not read: they know neither its uid nor its resource version.
func (ad *admission) outdated(ctx context.Context, q *question) judge.AdmissionReason {
	var objects metadata.ResourceInterface = ad.clients.Metadata.Resource(q.object.GVR)
	if q.object.Namespaced {
		objects = ad.clients.Metadata.Resource(q.object.GVR).Namespace(q.ID.Namespace)
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
