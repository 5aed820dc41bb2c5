package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func always(namespaced bool) manifest.Scope {
	return func(schema.GroupVersionKind) (bool, error) { return namespaced, nil }
}

// clusterScope knows a few kinds, and misses those of example.com.
func clusterScope(gvk schema.GroupVersionKind) (bool, error) {
	switch {
	case gvk.Group == "example.com":
		return false, fmt.Errorf("discovery: %w", &meta.NoKindMatchError{GroupKind: gvk.GroupKind(),
			SearchedVersions: []string{gvk.Version}})
	case gvk.Group == "down.io":
		return false, errors.New("the server is down")
	}
	return gvk.Kind != "ClusterRole" && gvk.Kind != "Namespace", nil
}

var podinfo = manifest.Release{Namespace: "apps", Name: "podinfo"}

// checkResolved checks the invariants of a resolved object.
func checkResolved(t *testing.T, objects []manifest.Object, namespaced bool) {
	t.Helper()
	for _, o := range objects {
		metadata, ok := o.Content["metadata"].(map[string]any)
		check.Must(t, ok, "%s has no metadata", o.ID)
		labels, _ := metadata["labels"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		check.That(t,
			labels["app.kubernetes.io/managed-by"] == "Helm" && annotations["meta.helm.sh/release-name"] == "podinfo" &&
				annotations["meta.helm.sh/release-namespace"] == "apps", "%s lacks Helm's ownership metadata: %v", o.ID, metadata)
		if namespaced && (o.ID.Namespace == "" || metadata["namespace"] != o.ID.Namespace) {
			t.Errorf("%s has namespace %v", o.ID, metadata["namespace"])
		}
		if _, found := metadata["namespace"]; !namespaced && (found || o.ID.Namespace != "") {
			t.Errorf("%s has a namespace", o.ID)
		}
		for _, field := range []string{"creationTimestamp", "resourceVersion", "uid", "generation", "managedFields",
			"selfLink", "deletionTimestamp"} {
			_, found := metadata[field]
			check.That(t, !found, "%s has metadata.%s", o.ID, field)
		}
		_, found := o.Content["status"]
		check.That(t, !found, "%s has a status", o.ID)
		_, err := json.Marshal(o.Content)
		check.That(t, err == nil, "%s is no JSON: %v", o.ID, err)
	}
}

func TestResolveMakesTheDesiredState(t *testing.T) {
	const owned = "labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: podinfo, meta.helm.sh/release-namespace: apps}"
	for name, test := range map[string]struct{ declared, want string }{
		"the release's namespace is the default": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, " + owned + "}, data: {k: v}}",
		},
		"a declared namespace stays": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other, " + owned + "}}",
		},
		"a cluster-scoped object has no namespace even when it declares one": {
			"{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: other}}",
			"{apiVersion: v1, kind: Namespace, metadata: {name: a, " + owned + "}}",
		},
		"Helm's ownership wins over what the chart declares": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app.kubernetes.io/managed-by: kubectl, app: x}, annotations: {meta.helm.sh/release-name: other, note: q}}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, labels: {app.kubernetes.io/managed-by: Helm, app: x}, annotations: {meta.helm.sh/release-name: podinfo, meta.helm.sh/release-namespace: apps, note: q}}}",
		},
		"a label of null is empty text, as Helm has it": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: null}, annotations: null}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, labels: {x: '', app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: podinfo, meta.helm.sh/release-namespace: apps}}}",
		},
		"labels are lost when one is a number, as in Helm": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: y, version: 1.5}}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, " + owned + "}}",
		},
		"status and server-owned metadata go, ownerReferences and finalizers stay": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null, resourceVersion: '1', uid: u, generation: 2, managedFields: [], selfLink: /x, deletionTimestamp: x, ownerReferences: [{name: o}], finalizers: [f]}, status: {x: y}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, ownerReferences: [{name: o}], finalizers: [f], " + owned + "}}",
		},
		"nulls go from fields of built-in kinds": {
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: null, ports: [{name: null, port: 1}]}}",
			"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: apps, " + owned + "}, spec: {ports: [{port: 1}]}}",
		},
		"nulls stay in custom resources": {
			"{apiVersion: example.org/v1, kind: X, metadata: {name: a}, spec: {a: null, b: {c: null}, d: [null, {e: null, f: 1}]}}",
			"{apiVersion: example.org/v1, kind: X, metadata: {name: a, namespace: apps, " + owned +
				"}, spec: {a: null, b: {c: null}, d: [null, {e: null, f: 1}]}}",
		},
		"stringData is folded into data and wins": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {both: b2xk, old: b2xk}, stringData: {both: new, fresh: '1', none: null}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: apps, " + owned +
				"}, data: {both: bmV3, old: b2xk, fresh: MQ==}}",
		},
		"stringData alone makes data": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: null, stringData: {a: b}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: apps, " + owned + "}, data: {a: Yg==}}",
		},
		"empty stringData is nothing": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: apps, " + owned + "}}",
		},
		"the stringData of other kinds is theirs": {
			"{apiVersion: example.org/v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}",
			"{apiVersion: example.org/v1, kind: Secret, metadata: {name: a, namespace: apps, " + owned +
				"}, stringData: {a: b}}",
		},
		"an aggregated ClusterRole has no rules of its own": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}, rules: []}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, " + owned +
				"}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: y}}]}}",
		},
		"other ClusterRoles keep their rules": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, aggregationRule: null, rules: [{verbs: [get]}]}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, " + owned +
				"}, rules: [{verbs: [get]}]}",
		},
		"quantities are canonical": {
			"{apiVersion: v1, kind: ResourceQuota, metadata: {name: a}, spec: {hard: {cpu: 1000m, memory: 2048Mi}}}",
			"{apiVersion: v1, kind: ResourceQuota, metadata: {name: a, namespace: apps, " + owned +
				"}, spec: {hard: {cpu: '1', memory: 2Gi}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			resolved, unknown, err := mustParse(t, test.declared).Resolve(podinfo, clusterScope)
			check.Must(t, err == nil && len(resolved) == 1 && len(unknown) == 0, "got %v, %v, %v", resolved, unknown,
				err)
			want, err := asKubernetes(test.want)
			check.NoError(t, err)
			if !reflect.DeepEqual(resolved[0].Content, want) {
				t.Errorf("got  %s\nwant %s", text(resolved[0].Content), text(want))
			}
			checkResolved(t, resolved, want["metadata"].(map[string]any)["namespace"] != nil)
		})
	}
}

func text(content any) string {
	out, err := yaml.Marshal(content)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func TestResolveKeepsOrderAndWhatParseFound(t *testing.T) {
	set := mustParse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: z}}\n---\n"+
		"{apiVersion: v1, kind: Secret, metadata: {name: q, annotations: {helm.sh/resource-policy: keep}}}\n---\n"+
		"{apiVersion: v1, kind: Namespace, metadata: {name: x}}")
	resolved, _, err := set.Resolve(podinfo, clusterScope)
	check.Must(t, err == nil && ids(resolved) == "Deployment apps/z, Secret apps/q, Namespace x", "got %s, %v",
		ids(resolved), err)
	check.That(t,
		resolved[1].Keep && !resolved[0].Keep &&
			resolved[0].GVK == (schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}), "got %+v", resolved)
}

func TestResolveFindsDuplicatesThatOnlyTheNamespaceHid(t *testing.T) {
	set := mustParse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: first}}\n---\n"+
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {v: last}}")
	resolved, _, err := set.Resolve(podinfo, clusterScope)
	check.That(t, err == nil && len(resolved) == 1 && resolved[0].Content["data"].(map[string]any)["v"] == "last",
		"got %v, %v", resolved, err)
}

func TestKindsThatTheClusterLacksAreUnknown(t *testing.T) {
	set := mustParse(t,
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}}")
	resolved, unknown, err := set.Resolve(podinfo, clusterScope)
	check.That(t, err == nil && ids(resolved) == "Secret apps/s" && ids(unknown) == "Widget.example.com w",
		"got %s and %s, %v", ids(resolved), ids(unknown), err)
}

func TestAnObjectOfAnUnknownKindIsMeantWithAndWithoutANamespace(t *testing.T) {
	for declared, want := range map[string][]string{"": {"", "apps"}, "other": {"", "other"}} {
		id := manifest.ID{Group: "example.com", Kind: "Widget", Namespace: declared, Name: "w"}
		var got []string
		for _, meant := range id.InEitherScope(manifest.Release{Namespace: "apps", Name: "podinfo"}) {
			got = append(got, meant.Namespace)
			meant.Namespace = declared
			check.That(t, meant == id, "%s is meant as %s", id, meant)
		}
		check.That(t, slices.Equal(got, want), "namespace %q is meant as %q", declared, got)
	}
}

func TestOtherErrorsOfScopeAbort(t *testing.T) {
	set := mustParse(t,
		"{apiVersion: v1, kind: Secret, metadata: {name: s}}\n---\n{apiVersion: down.io/v1, kind: Widget, metadata: {name: w}}")
	resolved, unknown, err := set.Resolve(podinfo, clusterScope)
	check.That(t,
		err != nil && resolved == nil && unknown == nil &&
			strings.Contains(err.Error(), "Widget.down.io w: the server is down"), "got %v, %v, %v", resolved, unknown, err)
}

func TestSecretsThatTheAPIRefusesAreErrorsWithoutValues(t *testing.T) {
	for declared, want := range map[string]string{
		"stringData: {password: 7212}":           `Secret s: stringData["password"] is not text`,
		"stringData: " + leak:                    "Secret s: stringData is not a mapping",
		"data: " + leak + ", stringData: {a: b}": "Secret s: data is not a mapping",
	} {
		_, _, err := mustParse(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, "+declared+
			"}").Resolve(podinfo, clusterScope)
		check.That(t, err != nil && err.Error() == want, "%s: got %v, want %s", declared, err, want)
	}
}

func TestScopeIsAskedOncePerKind(t *testing.T) {
	asked := 0
	set := mustParse(t, configMap("a")+"---\n"+configMap("b")+"---\n"+configMap("c"))
	_, _, err := set.Resolve(podinfo, func(schema.GroupVersionKind) (bool, error) { asked++; return true, nil })
	check.That(t, err == nil && asked == 1, "asked %d times, %v", asked, err)
}

func TestAReleaseKeyConvertsToARelease(t *testing.T) {
	check.Equal(t, manifest.Release(release.Key{Namespace: "apps", Name: "podinfo"}), podinfo)
}

func TestKeepIsReadAsHelmReadsIt(t *testing.T) {
	for policy, want := range map[string]bool{"keep": true, "Keep": true, "' keep '": true, "delete": false,
		"''": false, "true": false} {
		set := mustParse(t,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {helm.sh/resource-policy: "+policy+"}}")
		check.Equal(t, set.Objects[0].Keep, want, "policy %s: keep is %v", policy, !want)
	}
	set := mustParse(t,
		"apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/resource-policy: keep}}\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]")
	check.That(t, set.Objects[0].Keep, "an item of a kept List is not kept")
}

func TestOptedOutIsWhatTheObjectItselfSays(t *testing.T) {
	for annotation, want := range map[string]bool{
		"helmreleases.cattle.io/lock: disabled": true, "helm.toolkit.fluxcd.io/driftDetection: disabled": true,
		"{helmreleases.cattle.io/lock: enabled, helm.toolkit.fluxcd.io/driftDetection: disabled}": true,
		"helmreleases.cattle.io/lock: Disabled":                                                   false,
		"helmreleases.cattle.io/lock: 'disabled '":                                                false,
		"helmreleases.cattle.io/lock: ''":                                                         false,
		"helmreleases.cattle.io/lock:":                                                            false,
		"helmreleases.cattle.io/lock: enabled":                                                    false,
		"helmreleases.cattle.io/lock: 'false'":                                                    false,
		"helmreleases.cattle.io/lock: false":                                                      false,
		"helmreleases.cattle.io/lock: [disabled]":                                                 false,
		"helmreleases.cattle.io/Lock: disabled":                                                   false,
		"lock: disabled":                                                                          false, "{}": false,
	} {
		annotations := "annotations:\n    " + annotation
		set := mustParse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  "+annotations+"\n")
		check.Equal(t, set.Objects[0].OptedOut, want, "%v", annotation)
		resolved, _, err := set.Resolve(podinfo, always(true))
		check.NoError(t, err)
		check.Equal(t, resolved[0].OptedOut, want, "%s, resolved", annotation)
		asLabel := mustParse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  "+
			strings.Replace(annotations, "annotations", "labels", 1)+"\n")
		check.That(t, !asLabel.Objects[0].OptedOut, "the label %s opts out", annotation)
	}
	set := mustParse(t, `
apiVersion: v1
kind: List
metadata: {annotations: {helmreleases.cattle.io/lock: disabled}}
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {helmreleases.cattle.io/lock: disabled}}}
`)
	check.That(t, !set.Objects[0].OptedOut && set.Objects[1].OptedOut,
		"a List speaks for its items, or an item not for itself")
}
