package migrate_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/migrate"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fakeapi"
)

var web = release.Key{Namespace: fakeapi.Namespace, Name: "web"}

const (
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: \"1\"}\n"
	path      = "/api/v1/namespaces/" + fakeapi.Namespace + "/configmaps/web"
)

// fixture returns a server on which an older operator has marked the ConfigMap of release apps/web.
func fixture(t *testing.T, status helmrelease.Status) (*fakeapi.Server, *inspect.Cluster) {
	t.Helper()
	s := fakeapi.New(t)
	s.Deploy("web", configMap)
	s.Release("web", 1, status, configMap)
	labels, annotations, err := classic.Metadata(web)
	check.NoError(t, err)
	o := s.Get(path)
	all := o.GetLabels()
	maps.Copy(all, labels)
	o.SetLabels(all)
	all = o.GetAnnotations()
	maps.Copy(all, annotations)
	o.SetAnnotations(all)
	s.Put(o.Object)
	cluster, err := inspect.Connect(s.Config(), nil)
	check.NoError(t, err)
	return s, cluster
}

// look returns the plan for apps/web, which has one object.
func look(t *testing.T, cluster *inspect.Cluster) *migrate.Plan {
	t.Helper()
	plan, err := migrate.NewPlan(t.Context(), cluster, web, false)
	check.NoError(t, err)
	check.Must(t, plan.Declared == 1 && len(plan.Marked) == 1 && len(plan.Unseen) == 0,
		"declared %d, marked %v, unseen %v", plan.Declared, plan.Marked, plan.Unseen)
	return plan
}

func TestCarryTakesTheMetadataOffAndNothingElse(t *testing.T) {
	s, cluster := fixture(t, helmrelease.StatusDeployed)
	plan := look(t, cluster)
	if err := plan.Carry(t.Context(), cluster, true); err != nil || len(s.Writes("/configmaps/")) > 0 {
		t.Fatalf("a dry run wrote %v, %v", s.Writes("/configmaps/"), err)
	}
	// A change of the object between the plan and the write is kept.
	o := s.Get(path)
	check.NoError(t, unstructured.SetNestedField(o.Object, "2", "data", "a"))
	s.Put(o.Object)
	if err := plan.Carry(t.Context(), cluster, false); err != nil || !plan.Marked[0].Done || plan.Marked[0].Err != nil {
		t.Fatalf("%v, %+v", err, plan.Marked[0])
	}
	o = s.Get(path)
	left, err := json.Marshal(map[string]any{"labels": o.GetLabels(), "annotations": o.GetAnnotations(), "data": o.Object["data"]})
	const want = `{"annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"apps"},"data":{"a":"2"},` +
		`"labels":{"app.kubernetes.io/managed-by":"Helm"}}`
	check.That(t, err == nil && string(left) == want, "left %s, %v", left, err)
	again, err := migrate.NewPlan(t.Context(), cluster, web, false)
	check.That(t, err == nil && len(again.Marked) == 0, "afterwards %+v, %v", again, err)
}

func TestNothingIsWrittenWhileHelmIsAtWork(t *testing.T) {
	_, cluster := fixture(t, helmrelease.StatusPendingUpgrade)
	_, err := migrate.NewPlan(t.Context(), cluster, web, false)
	check.That(t, errors.Is(err, migrate.ErrHelmAtWork), "look: %v", err)
	s, cluster := fixture(t, helmrelease.StatusDeployed)
	plan := look(t, cluster)
	s.Release("web", 2, helmrelease.StatusPendingUpgrade, configMap)
	err = plan.Carry(t.Context(), cluster, false)
	check.That(t, errors.Is(err, migrate.ErrHelmAtWork) && !plan.Marked[0].Done, "carry: %v", err)
	writes := s.Writes("/configmaps/")
	check.That(t, len(writes) == 0, "wrote %v", writes)
}

func TestWhatCannotBeReadOrWrittenIsNamed(t *testing.T) {
	s, cluster := fixture(t, helmrelease.StatusDeployed)
	plan := look(t, cluster)
	forbid := func(method string) {
		s.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
			if r.Method == method && r.Path == path {
				return apierrors.NewForbidden(fakeapi.NewKind("", "v1", "configmaps", "ConfigMap", true).GroupResource(), "web", nil)
			}
			return nil
		})
	}
	forbid(http.MethodPatch)
	if err := plan.Carry(t.Context(), cluster, false); err != nil || !apierrors.IsForbidden(plan.Marked[0].Err) {
		t.Errorf("%v, %+v", err, plan.Marked[0])
	}
	forbid(http.MethodGet)
	if plan, err := migrate.NewPlan(t.Context(), cluster, web, false); err != nil || len(plan.Unseen) != 1 {
		t.Errorf("%+v, %v", plan, err)
	}
	s.Refuse(nil)
	s.Delete(path)
	if err := plan.Carry(t.Context(), cluster, false); err != nil || !plan.Marked[0].Done {
		t.Errorf("of an object that is gone: %v, %+v", err, plan.Marked[0])
	}
	plan, err := migrate.NewPlan(t.Context(), cluster, web, false)
	check.That(t, err == nil && len(plan.Marked) == 0, "%+v, %v", plan, err)
}
