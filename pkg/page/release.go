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
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// Bounds of the list of a release's objects.
const (
	mostObjects = 1000
	mostName    = 512 // characters
)

// release answers with all that the status of one HelmRelease says, to viewers who may see the list.
func (p *Page) release(w http.ResponseWriter, r *http.Request) {
	if _, refused := p.mayList(r); refused != nil {
		p.refuse(w, refused.Status, refused.Message)
		return
	}
	if hr := p.named(w, r); hr != nil {
		answer(w, http.StatusOK, viewOf(hr, p.Clock.Now()))
	}
}

// named returns the HelmRelease that a request names. Only what is on the page can be asked for: for anything else it
// returns nil, and has refused.
func (p *Page) named(w http.ResponseWriter, r *http.Request) *v1alpha1.HelmRelease {
	query := r.URL.Query()
	hr, err := p.Releases.Get(query.Get("namespace"), query.Get("name"))
	switch {
	case apierrors.IsNotFound(err):
		p.refuse(w, http.StatusNotFound, "there is no such HelmRelease any more")
		return nil
	case err != nil:
		p.refuse(w, http.StatusInternalServerError, err.Error())
		return nil
	}
	return hr
}

// work is what a viewer asks for about a release, beyond what is in the cache.
type work func(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (any, error)

// costly answers with what some work finds. It is done for viewers who are known and may get the HelmRelease, one at a
// time, since it reads the record of the release, and of each viewer one after the other.
func (p *Page) costly(do work) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		by, refused := p.mayCompare(r, query.Get("namespace"), query.Get("name"))
		if refused != nil {
			p.refuse(w, refused.Status, refused.Message)
			return
		}
		hr := p.named(w, r)
		if hr == nil || r.Method == http.MethodHead {
			return
		}
		// Until there is something to send, neither reading nor writing has a limit; the context ends when the
		// client goes.
		to := http.NewResponseController(w)
		if to.SetReadDeadline(time.Time{}) != nil || to.SetWriteDeadline(time.Time{}) != nil {
			p.refuse(w, http.StatusInternalServerError, "this connection has no time limits")
			return
		}
		found, err := p.inTurn(r.Context(), by, func(ctx context.Context) (any, error) { return do(ctx, hr, by) })
		if to.SetWriteDeadline(time.Now().Add(p.timeout)) != nil {
			return
		}
		switch {
		case errors.Is(err, serving.ErrTooMany):
			p.refuse(w, http.StatusTooManyRequests, err.Error())
		case err != nil:
			p.refuse(w, http.StatusBadGateway, err.Error())
		default:
			answer(w, http.StatusOK, found)
		}
	}
}

// inTurn does some work for a viewer when it is the viewer's turn. The error is serving.ErrTooMany when it does not
// come.
func (p *Page) inTurn(
	ctx context.Context, by viewer.User, do func(context.Context) (any, error),
) (found any, err error) {
	waiting, stop := context.WithTimeout(ctx, comparisonPatience)
	defer stop()
	begun := false
	err = p.comparing.Do(waiting, by.Name(), func() error {
		if err := p.budget.Wait(waiting); err != nil {
			return err
		}
		begun = true
		working, cancel := context.WithTimeout(ctx, comparisonTimeout)
		defer cancel()
		var err error
		found, err = do(working)
		return err
	})
	if err != nil && !begun {
		return nil, serving.ErrTooMany
	}
	return found, err
}

func (p *Page) compared(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (any, error) {
	return p.compare(ctx, hr, by)
}

// objectsView are the names of the objects that a release declares.
type objectsView struct {
	Revision int      `json:"revision"`
	Objects  []string `json:"objects"`
	// Omitted is how many more there are.
	Omitted int `json:"omitted,omitempty"`
}

// objects returns what the revision of a release declares that a comparison would compare with the cluster. It reads
// the record with the viewer's rights, and no object.
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
