package oracle

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for uri, good := range map[string]bool{
		"/api": true, "/apis/apps/v1": true, "/openapi/v3/apis/apps/v1?hash=1": true, "/readyz": true, "/version": true,
		"/api/v1/namespaces": true, "/api/v1/namespaces/apps": true, "/api/v1/namespaces/apps/configmaps/settings": true,
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node":            true,
		"/apis/helm.cattle.io/v1alpha1/namespaces/a/helmreleases/b/status":       true,
		"/apis/teams.helm.cattle.io/v1alpha1/namespaces/a/releaselocks/b/status": true,
		"/api/v1/namespaces/apps/pods/mine/resize":                               true,
		"/api/v1/namespaces/apps/finalize":                                       true,
		"/api/v1/namespaces/apps/secrets?labelSelector=owner%3Dhelm":             true,
		"/api/v1/namespaces/apps/pods/http:mine:8080/proxy/x":                    false,
		"/api/v1/namespaces/apps/pods/mine/exec":                                 false,
		"/api/v1/namespaces/apps/configmaps/..%2F..%2Fsecrets":                   false,
		"/api/v1/namespaces/apps/secrets/sh.helm.release.v1.a%25zz.v1":           false,
		"/api/v1/namespaces/apps/secrets/x%20y":                                  false,
		"/api/v1/namespaces/apps//x":                                             false,
		"/api/v1/proxy/namespaces/apps":                                          false,
		"/metrics":                                                               false,
		"/apis/apps/v1/namespaces/apps/deployments/web/status":                   false,
	} {
		if got := plain(uri); got != good {
			t.Errorf("%s: %t, want %t", uri, got, good)
		}
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	for selector, good := range map[string]bool{
		"": true, "owner%3Dhelm%2Cname%3Dshop": true, "app.kubernetes.io%2Fmanaged-by%3DHelm": true,
		"owner%3Dhelm%2Cname%3Dshop%2Cstatus%3Ddeployed": false, "owner%3Dhelm%2Cname%3Da%2Cname%3Db": false,
	} {
		r := &Request{RequestURI: "/api/v1/namespaces/apps/secrets?labelSelector=" + selector}
		r.ObjectRef.Resource = "secrets"
		if got := ofOne(r); got != good {
			t.Errorf("%s: %t, want %t", selector, got, good)
		}
	}
}

func TestDeclares(t *testing.T) {
	t.Parallel()
	objects, err := parse(`
apiVersion: apps/v1beta1
kind: Deployment
metadata: {name: web}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: elsewhere}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}
`, "apps", "shop")
	if err != nil {
		t.Fatal(err)
	}
	r := &record{as: "apps", objects: objects}
	for id, want := range map[identity]bool{
		{"apps", "Deployment", "apps", "web"}:                        true, // whatever version it is at
		{"apps", "Deployment", "other", "web"}:                       false,
		{"", "ConfigMap", "elsewhere", "other"}:                      true,
		{"", "ConfigMap", "apps", "other"}:                           false,
		{"rbac.authorization.k8s.io", "ClusterRole", "", "reader"}:   true,
		{"example.com", "ClusterRole", "", "reader"}:                 false,
		{"rbac.authorization.k8s.io", "ClusterRole", "", "somebody"}: false,
	} {
		if got := r.declares(id) != nil; got != want {
			t.Errorf("%v is declared: %t, want %t", id, got, want)
		}
	}
}

func TestDiffering(t *testing.T) {
	t.Parallel()
	declared := object{"spec": map[string]any{"replicas": float64(2), "empty": "", "cpu": "1000m",
		"ports": []any{map[string]any{"port": float64(80)}, map[string]any{"port": float64(443)}},
		"env":   []any{map[string]any{"name": "a", "value": "1"}, map[string]any{"name": "b", "value": "2"}},
		"args":  []any{"x", "y"}}}
	live := object{"spec": map[string]any{"replicas": float64(3), "cpu": "1",
		"ports": []any{map[string]any{"port": float64(443)}, map[string]any{"port": float64(80), "protocol": "TCP"}},
		"env":   []any{map[string]any{"name": "b", "value": "other"}, map[string]any{"name": "a", "value": "1"}},
		"args":  []any{"x"}}}
	paths := slices.Sorted(maps.Keys(differing(declared, live)))
	if got := strings.Join(paths, " "); got != "/spec/args/1 /spec/env/1/value /spec/replicas" {
		t.Errorf("differing are %s", got)
	}
}

func TestSecretsAreComparedAndNotShown(t *testing.T) {
	t.Parallel()
	declared := object{"kind": "Secret", "data": map[string]any{"none": nil, "lines": "aHVu\ndGVy\n"},
		"stringData": map[string]any{"password": "hunter2"}}
	stored := object{"kind": "Secret", "data": map[string]any{"none": nil, "lines": "aHVudGVy",
		"password": "aHVudGVyMg=="}}
	if wrong := differing(declared, stored); len(wrong) > 0 {
		t.Errorf("differing are %v", wrong)
	}
	if text := show(&live{id: identity{kind: "Secret"}}, "hunter2"); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}

// Helm 4 owns stringData as it applies it, and an owner of the same key in data is no conflict.
func TestOwnersOfStringData(t *testing.T) {
	t.Parallel()
	declared := object{"kind": "Secret", "stringData": map[string]any{"token": "plain"}}
	token := map[string]any{"f:token": map[string]any{}}
	for entry, want := range map[string]int{"kubectl f:data": 0, "kubectl f:stringData": 1, "helm f:data": 0} {
		manager, field, _ := strings.Cut(entry, " ")
		o := object{"kind": "Secret", "data": map[string]any{"token": "cGxhaW4="}, "metadata": map[string]any{
			"managedFields": []any{
				map[string]any{"manager": "helm", "operation": "Apply", "fieldsV1": map[string]any{"f:stringData": token}},
				map[string]any{"manager": manager, "operation": "Update", "fieldsV1": map[string]any{field: token}},
			}}}
		if wrong := unlikeHelm(candidate{&record{ssa: true}, declared}, o, nil); len(wrong) != want {
			t.Errorf("%s: %v, want %d", entry, wrong, want)
		}
	}
}
