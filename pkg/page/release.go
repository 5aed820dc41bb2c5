package page

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// Bounds of the list of a release's objects.
const (
	mostObjects = 1000
	mostName    = 512 // characters
)

// release answers with the status of one HelmRelease, to viewers with access to the list.
func (p *Page) release(w http.ResponseWriter, r *http.Request) {
	if _, refused := p.rights().mayList(r); refused != nil {
		refuse(w, refused.Status, refused.Message)
		return
	}
	if hr := named(w, r, p.Releases); hr != nil {
		answer(w, http.StatusOK, viewOf(hr, p.Clock.Now()))
	}
}

// named returns the HelmRelease of a request. Without one on the page it refuses the request and returns nil.
func named(w http.ResponseWriter, r *http.Request, among Releases) *v1alpha1.HelmRelease {
	query := r.URL.Query()
	hr, err := among.Get(query.Get("namespace"), query.Get("name"))
	switch {
	case apierrors.IsNotFound(err):
		refuse(w, http.StatusNotFound, "there is no such HelmRelease any more")
		return nil
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
		return nil
	}
	return hr
}

// work answers a viewer's question about a release from the cluster.
type work func(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (any, error)

// costly serves some work to authenticated viewers with the right to get the HelmRelease. It runs one at a time,
// because it reads the record of the release, and at most one for each viewer.
func (p *Page) costly(do work) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		by, refused := p.rights().mayCompare(r, query.Get("namespace"), query.Get("name"))
		if refused != nil {
			refuse(w, refused.Status, refused.Message)
			return
		}
		hr := named(w, r, p.Releases)
		if hr == nil || r.Method == http.MethodHead {
			return
		}
		// Neither reading nor writing has a limit until the result is ready; the context ends when the client
		// disconnects.
		to := http.NewResponseController(w)
		if to.SetReadDeadline(time.Time{}) != nil || to.SetWriteDeadline(time.Time{}) != nil {
			refuse(w, http.StatusInternalServerError, "this connection has no time limits")
			return
		}
		found, err := p.turns.inTurn(r.Context(), by, func(ctx context.Context) (any, error) { return do(ctx, hr, by) })
		if to.SetWriteDeadline(time.Now().Add(p.timeout)) != nil {
			return
		}
		switch {
		case errors.Is(err, viewer.ErrTooMany):
			refuse(w, http.StatusTooManyRequests, err.Error())
		case err != nil:
			refuse(w, http.StatusBadGateway, err.Error())
		default:
			answer(w, http.StatusOK, found)
		}
	}
}

// objectsView lists the names of the objects that a release declares.
type objectsView struct {
	Revision int      `json:"revision"`
	Objects  []string `json:"objects"`
	// Omitted counts the further objects.
	Omitted int `json:"omitted,omitempty"`
}

// objects returns the declared objects that a comparison would cover. It reads the record with the viewer's rights, and
// no object.
func (p *Page) objects(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (any, error) {
	cluster, err := p.Cluster(by.Token())
	if err != nil {
		return nil, err
	}
	_, record, err := current(ctx, cluster, hr)
	if err != nil {
		return nil, err
	}
	details, err := cluster.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	objects, err := inspect.Names(details, cluster.Scope())
	if err != nil {
		return nil, err
	}
	view := objectsView{Revision: details.Revision, Objects: []string{}, Omitted: max(len(objects)-mostObjects, 0)}
	for _, id := range objects[:len(objects)-view.Omitted] {
		object := v1alpha1.DriftedObject{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
		view.Objects = append(view.Objects, report.Cut(plain.Line(object.String()), mostName))
	}
	return view, nil
}
