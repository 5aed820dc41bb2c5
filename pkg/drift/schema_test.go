package drift

import (
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestSchemasFollowTheGoTypes(t *testing.T) {
	s := schemas(t)
	for name, tc := range map[string]struct {
		group, version, kind string
		path                 []string
		list                 listKind
		keys                 []string
		ordered              bool
	}{
		"containers": {"apps", "v1", "StatefulSet", []string{"spec", "template", "spec", "containers"},
			keyedList, []string{"name"}, true},
		"volumes of a cron job": {"batch", "v1", "CronJob",
			[]string{"spec", "jobTemplate", "spec", "template", "spec", "volumes"}, keyedList, []string{"name"}, false},
		"service ports": {"", "v1", "Service", []string{"spec", "ports"}, keyedList, []string{"port", "protocol"}, false},
		"host aliases":  {"", "v1", "Pod", []string{"spec", "hostAliases"}, keyedList, []string{"ip"}, false},
		"topology constraints": {"", "v1", "Pod", []string{"spec", "topologySpreadConstraints"}, keyedList,
			[]string{"topologyKey", "whenUnsatisfiable"}, false},
		"tolerations": {"", "v1", "Pod", []string{"spec", "tolerations"}, atomicList, nil, false},
		"webhooks": {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
			[]string{"webhooks"}, keyedList, []string{"name"}, false},
		"ingress rules": {"networking.k8s.io", "v1", "Ingress", []string{"spec", "rules"}, atomicList, nil, false},
		"versions of a CRD": {"apiextensions.k8s.io", "v1", "CustomResourceDefinition",
			[]string{"spec", "versions"}, atomicList, nil, false},
		"finalizers":             {"", "v1", "PersistentVolumeClaim", []string{"metadata", "finalizers"}, setList, nil, false},
		"finalizers of any kind": {"example.com", "v1", "Thing", []string{"metadata", "finalizers"}, setList, nil, false},
		"owners of any kind": {"example.com", "v1", "Thing", []string{"metadata", "ownerReferences"}, keyedList,
			[]string{"uid"}, false},
		"a list of a custom kind": {"example.com", "v1", "Thing", []string{"spec", "containers"}, atomicList, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := s.For(schema.GroupVersionKind{Group: tc.group, Version: tc.version, Kind: tc.kind}).root
			for _, p := range tc.path {
				n = n.field(p)
			}
			if n == nil {
				n = &node{}
			}
			var keys []string
			for _, k := range n.keys {
				keys = append(keys, k.field)
			}
			check.Must(t, n.list == tc.list && len(keys) == len(tc.keys) && n.ordered == tc.ordered,
				"list %d keys %q ordered %v", n.list, keys, n.ordered)
			for i := range keys {
				check.Equal(t, keys[i], tc.keys[i], "keys %q", keys)
			}
		})
	}
}

func TestSchemasOfSelfContainingTypesEnd(t *testing.T) {
	root := schemas(t).For(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"}).root
	n := root.field("spec").field("versions").element().field("schema").field("openAPIV3Schema")
	deep := n.field("properties").field("a").field("properties").field("b")
	check.That(t, deep != nil && deep.object == n.object,
		"a property of a property is described by something else than a property")
}

func TestSchemasMayBeUsedConcurrently(t *testing.T) {
	s := schemas(t)
	desired, live := obj(t, deployment), obj(t, deploymentLive)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			r := Compare(desired, live, Options{Schema: schemaOf(s, desired)})
			check.That(t, r.Target == nil, "drift")
		})
	}
	wg.Wait()
}

// Kinds share the descriptions of their common types: a later compilation must not touch them.
func TestAKindIsCompiledWhileAnotherOneIsCompared(t *testing.T) {
	s := schemas(t)
	desired := obj(t,
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {a: b}}}}")
	live := obj(t,
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {a: b}, matchExpressions: []}}}")
	opt := Options{Schema: schemaOf(s, desired)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			if r := Compare(desired, live, opt); len(r.Changes) != 1 {
				t.Errorf("changes %q", changes(r.Changes))
			}
		}
	})
	for _, kind := range []string{"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"} {
		wg.Go(func() { s.For(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}) })
	}
	wg.Wait()
}
