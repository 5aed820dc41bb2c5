package kit

import (
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Diff returns the drifted objects of a release according to `helm-locker diff`, as kind/name.
func (e *Env) Diff(name string) []string {
	e.Helper()
	return e.DiffWith(e.Inspect(), name)
}

// Inspect returns the reader behind `helm-locker diff`. Creating one requests the API discovery.
func (e *Env) Inspect() *inspect.Cluster {
	e.Helper()
	cluster, err := inspect.Connect(e.Cluster.RESTConfig(), nil)
	check.NoError(e, err)
	return cluster
}

// DiffWith is Diff for frequent calls, with one reader.
func (e *Env) DiffWith(cluster *inspect.Cluster, name string) []string {
	e.Helper()
	record, err := cluster.Find(e.Ctx, release.Key{Namespace: e.Apps, Name: name}, 0)
	check.NoError(e, err)
	details, err := cluster.Read(e.Ctx, record)
	check.NoError(e, err)
	compared, err := inspect.Compare(e.Ctx, cluster, details, inspect.CompareOptions{})
	check.NoError(e, err)
	for _, f := range compared.Failures {
		e.Errorf("diff of %s: %v", f.ID, f.Err)
	}
	var drifted []string
	for _, d := range compared.Differences {
		drifted = append(drifted, d.ID.Kind+"/"+d.ID.Name)
	}
	return drifted
}
