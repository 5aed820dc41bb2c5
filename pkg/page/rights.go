package page

import (
	"context"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// helmReleases is the resource for the authorization of viewers.
const helmReleases = "helmreleases"

// rights are those of viewers in a namespace.
type rights struct {
	viewers   *viewer.Reviewer // nil without authentication
	namespace string
}

// mayList returns the user if they may list the HelmReleases, and a refusal otherwise. Without viewers every client
// may.
func (r rights) mayList(by *http.Request) (viewer.User, *viewer.Refusal) {
	if r.viewers == nil {
		return viewer.User{}, nil
	}
	return r.viewers.Require(by, viewer.Access{Resource: &authorizationv1.ResourceAttributes{
		Verb: "list", Group: v1alpha1.SchemeGroupVersion.Group, Version: v1alpha1.SchemeGroupVersion.Version,
		Resource: helmReleases, Namespace: r.namespace,
	}})
}

// mayCompare returns the user if they may compare the release of a HelmRelease, and a refusal otherwise. A comparison
// shows the content of objects, so without viewers no client may.
func (r rights) mayCompare(by *http.Request, namespace, name string) (viewer.User, *viewer.Refusal) {
	if r.viewers == nil {
		return viewer.User{}, &viewer.Refusal{
			Status: http.StatusForbidden,
			Message: "comparisons are shown to authenticated viewers only (--page-auth); helm-locker diff makes " +
				"them with your own rights",
		}
	}
	return r.viewers.Require(by, viewer.Access{Resource: &authorizationv1.ResourceAttributes{
		Verb: "get", Group: v1alpha1.SchemeGroupVersion.Group, Version: v1alpha1.SchemeGroupVersion.Version,
		Resource:  helmReleases,
		Namespace: namespace, Name: name,
	}})
}

// withhold returns the objects outside the rights of the release's account, each with the reason. They must not be
// read: the release does not own them, and they must not appear as its drift. The API server itself refuses objects
// that the viewer may not get.
func (r rights) withhold(
	ctx context.Context, cluster *inspect.Cluster, objects []manifest.Object, account string,
) (map[manifest.ID]string, error) {
	if account == "" {
		return nil, nil
	}
	asked := make([]accounts.Object, len(objects))
	for i, o := range objects {
		resource, err := cluster.Resource(o.GVK)
		if err != nil {
			return nil, err
		}
		asked[i] = accounts.Object{
			GVR:       schema.GroupVersionResource{Group: o.GVK.Group, Version: o.GVK.Version, Resource: resource},
			Namespace: o.ID.Namespace, Name: o.ID.Name,
		}
	}
	allowed, err := accounts.Rights(ctx, asked, r.mayPatch(account))
	if err != nil {
		return nil, err
	}
	withheld := map[manifest.ID]string{}
	for i, o := range objects {
		if !allowed[i] {
			withheld[o.ID] = fmt.Sprintf("not owned: %s may not change it, so it is not read", account)
		}
	}
	return withheld, nil
}

func (r rights) mayPatch(account string) accounts.Ask {
	return func(ctx context.Context, o accounts.Object) (bool, error) {
		return r.viewers.May(ctx, viewer.Account(account), viewer.Access{Resource: &authorizationv1.ResourceAttributes{
			Verb: "patch", Group: o.GVR.Group, Version: o.GVR.Version, Resource: o.GVR.Resource, Namespace: o.Namespace,
			Name: o.Name,
		}})
	}
}
