package permissions

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// object returns an object to be locked, from YAML.
func object(t *testing.T, resource, namespace, text string) Object {
	t.Helper()
	content := fixture.Object(t, text)
	version, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	gvk := schema.FromAPIVersionAndKind(version, kind)
	return Object{Resource: resource, Object: manifest.Object{GVK: gvk, Content: content,
		ID: manifest.ID{Group: gvk.Group, Kind: kind, Namespace: namespace, Name: "x"}}}
}

func rule(namespaces []string, group, resource string, verbs ...string) Rule {
	return Rule{Namespaces: namespaces, PolicyRule: resources(group, resource, verbs...)}
}

// covers reports whether one of the rules grants a verb on a resource in a namespace, for all names, or for the
// given one.
func covers(rules []Rule, namespace, resource, name, verb string) bool {
	what := schema.ParseGroupResource(resource)
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return (len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)) &&
			slices.Contains(r.APIGroups, what.Group) &&
			slices.Contains(r.Resources, what.Resource) && slices.Contains(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	})
}

func TestFormerObjectsAreNotWatched(t *testing.T) {
	former := object(t, "configmaps", "apps", "{apiVersion: v1, kind: ConfigMap}")
	former.Former = true
	rules, _ := For(nil, []Object{former}, Options{})
	want := []Rule{rule([]string{"apps"}, "", "configmaps", "get", "create", "delete")}
	check.That(t, reflect.DeepEqual(rules, want), "%+v", rules)
}

func TestNamesLimitAllButCreationsAndWatches(t *testing.T) {
	rules, _ := For([]string{"apps"}, []Object{object(t, "secrets", "apps", "{apiVersion: v1, kind: Secret}")},
		Options{Names: true})
	for verb, want := range map[string]bool{"list": true, "watch": true, "create": true, "get": true, "patch": false,
		"delete": false, "update": false} {
		check.Equal(t, covers(rules, "apps", "secrets", "other", verb), want, "%s of another Secret of the namespace: %v",
			verb, !want)
	}
	check.That(t, covers(rules, "apps", "secrets", "x", "patch") && !covers(rules, "elsewhere", "secrets", "x", "get"),
		"%+v", rules)
}

func TestSubresourcesThatRestoreAField(t *testing.T) {
	former := object(t, "pods", "apps", "{apiVersion: v1, kind: Pod}")
	former.Former = true
	for text, o := range map[string]Object{
		"patch pods/resize":          object(t, "pods", "apps", "{apiVersion: v1, kind: Pod}"),
		"update namespaces/finalize": object(t, "namespaces", "", "{apiVersion: v1, kind: Namespace, spec: {finalizers: [a]}}"),
		"namespaces":                 object(t, "namespaces", "", "{apiVersion: v1, kind: Namespace}"),
		"configmaps":                 object(t, "configmaps", "apps", "{apiVersion: v1, kind: ConfigMap}"),
		"pods":                       former,
	} {
		rules, _ := For(nil, []Object{o}, Options{Names: true})
		verb, resource, through := strings.Cut(text, " ")
		check.That(t,
			(!through || covers(rules, "apps", resource, "x", verb) && !covers(rules, "apps", resource, "y", verb)) &&
				(through ||
					!slices.ContainsFunc(rules, func(r Rule) bool { return strings.Contains(r.Resources[0], "/") })),
			"%s: %+v", text, rules)
	}
}

func TestAggregatedRolesAreEscalatedByNameAlone(t *testing.T) {
	rules, notes := For(nil, []Object{object(t, "clusterroles", "", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`)}, Options{})
	check.That(t,
		covers(rules, "", "clusterroles."+rbacv1.GroupName, "x", "escalate") &&
			!covers(rules, "", "clusterroles."+rbacv1.GroupName, "y", "escalate"), "%+v", rules)
	check.That(t, !covers(rules, "", "*.*", "", "*"), "what a controller has filled in is granted")
	check.Equal(t, len(notes), 1, "%v", notes)
}

// A Role's rules are granted in its scope, and in no other.
func TestWhatRolesGrantIsGrantedInTheirScope(t *testing.T) {
	role, _ := For(nil, []Object{object(t, "roles", "apps",
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], resourceNames: [p], verbs: [get]}]}`)}, Options{})
	check.That(t,
		covers(role, "apps", "pods", "p", "get") && !covers(role, "apps", "pods", "q", "get") &&
			!covers(role, "b", "pods", "p", "get"), "%+v", role)
	wide, _ := For(nil, []Object{object(t, "clusterroles", "",
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}`)}, Options{})
	check.That(t, slices.ContainsFunc(wide, func(r Rule) bool {
		return len(r.Namespaces) == 0 && reflect.DeepEqual(r.NonResourceURLs, []string{"/metrics"}) &&
			reflect.DeepEqual(r.Verbs, []string{"get"})
	}), "%+v", wide)
}

func TestUnreadableRolesAndParametersAreNoted(t *testing.T) {
	unknown := Options{Resource: func(schema.GroupVersionKind) (string, error) { return "", errors.New("not served") }}
	for name, o := range map[string]Object{
		"role": object(t, "roles", "apps", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: text}`),
		"binding": object(t, "rolebindings", "apps",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: text}`),
		"parameters": object(t, "validatingadmissionpolicies", "",
			`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, spec: {paramKind: {apiVersion: a/v1, kind: B}}}`),
	} {
		_, notes := For(nil, []Object{o}, unknown)
		check.That(t, len(notes) == 1, "%s: %q", name, notes)
	}
	plain := object(t, "validatingadmissionpolicies", "",
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, spec: {}}`)
	_, notes := For(nil, []Object{plain}, unknown)
	check.That(t, len(notes) == 0, "%q", notes)
}

func TestWhatWidensTheRightsOfTheAuthorIsNoted(t *testing.T) {
	served := Options{Resource: func(gvk schema.GroupVersionKind) (string, error) {
		return strings.ToLower(gvk.Kind) + "s", nil
	}}
	const admission, policy = "apiVersion: admissionregistration.k8s.io/v1, kind: ",
		`spec: {paramKind: {apiVersion: %s, kind: %s}}`
	for name, tc := range map[string]struct {
		resource, content string
		says              []string // a part of each note
	}{
		"a policy about Secrets": {"validatingadmissionpolicies", `{` + admission + `ValidatingAdmissionPolicy, ` +
			fmt.Sprintf(policy, "v1", "Secret") + `}`,
			[]string{"may read every Secret of the cluster"}},
		"a policy about another kind called Secret": {"validatingadmissionpolicies",
			`{` + admission + `ValidatingAdmissionPolicy, ` + fmt.Sprintf(policy, "example.org/v1", "Secret") + `}`, nil},
		"a policy about ConfigMaps": {"validatingadmissionpolicies", `{` + admission + `ValidatingAdmissionPolicy, ` +
			fmt.Sprintf(policy, "v1", "ConfigMap") + `}`, nil},
		"a mutating policy about Secrets": {"mutatingadmissionpolicies", `{` + admission +
			`MutatingAdmissionPolicy, ` + fmt.Sprintf(policy, "v1", "Secret") + `}`,
			[]string{"may read every Secret of the cluster", "may change every object"}},
		"a validating webhook": {"validatingwebhookconfigurations", `{` + admission +
			`ValidatingWebhookConfiguration}`, []string{"and refused there"}},
		"a mutating webhook": {"mutatingwebhookconfigurations", `{` + admission +
			`MutatingWebhookConfiguration}`, []string{"and changed or refused there"}},
		"a binding of a policy": {"validatingadmissionpolicybindings", `{` + admission +
			`ValidatingAdmissionPolicyBinding}`, nil},
		"an API service": {"apiservices", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService}`,
			[]string{"requests to any API group"}},
		"a definition that converts": {"customresourcedefinitions",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {conversion: {strategy: Webhook}}}`, []string{"every object of this kind"}},
		"a definition": {"customresourcedefinitions",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes := For(nil, []Object{object(t, tc.resource, "", tc.content)}, served)
			check.Must(t, len(notes) == len(tc.says), "notes are %q", notes)
			for _, part := range tc.says {
				check.That(t, strings.Contains(strings.Join(notes, "\n"), part), "%q is not in %q", part, notes)
			}
		})
	}
}

// Compacting changes no grant: not by a verb, a name, a namespace or a resource of another rule.
func TestCompactKeepsWhatIsGranted(t *testing.T) {
	rules := []Rule{
		rule([]string{"a"}, "", "configmaps", "get"), rule([]string{"b"}, "", "configmaps", "get"),
		rule([]string{"a"}, "", "secrets", "get"),
		rule(nil, "", "configmaps", "list"), rule(nil, "", "configmaps", "watch"), rule(nil, "", "secrets", "list"),
		rule([]string{"a"}, "apps", "deployments", "get"), rule([]string{"a"}, "", "configmaps", "patch"),
	}
	named := rule([]string{"a"}, "", "configmaps", "delete")
	named.ResourceNames = []string{"x"}
	other := rule([]string{"a"}, "", "configmaps", "delete")
	other.ResourceNames = []string{"y"}
	rules = append(rules, named, other)
	small := compact(rules)
	check.That(t, len(small) < len(rules), "%d rules became %d", len(rules), len(small))
	for _, namespace := range []string{"a", "b", "c"} {
		for _, group := range []string{"", "apps"} {
			for _, resource := range []string{"configmaps", "secrets", "deployments"} {
				for _, name := range []string{"x", "y", "z"} {
					for _, verb := range verbs {
						what := schema.GroupResource{Group: group, Resource: resource}.String()
						before := covers(rules, namespace, what, name, verb)
						after := covers(small, namespace, what, name, verb)
						check.That(t, before == after, "%s %s %s/%s in %s: %v became %v", verb, group, resource, name, namespace, before,
							after)
					}
				}
			}
		}
	}
	slices.Reverse(rules)
	again := compact(rules)
	check.That(t, reflect.DeepEqual(again, small), "the order matters:\n%+v\n%+v", small, again)
	again = compact(small)
	check.That(t, reflect.DeepEqual(again, small), "not compact:\n%+v\n%+v", small, again)
}

func TestGrantBindsEveryPlace(t *testing.T) {
	objects := Grant([]Rule{rule(nil, "", "configmaps", "list"), rule([]string{"a", "b"}, "", "configmaps", "get")},
		Subject{"releases", "operators", "locker"})
	var kinds []string
	for _, o := range objects {
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			kinds = append(kinds, o.Kind+" "+o.Name)
		case *rbacv1.ClusterRoleBinding:
			kinds = append(kinds, o.Kind+" "+o.RoleRef.Kind+" "+o.Subjects[0].Namespace+"/"+o.Subjects[0].Name)
		case *rbacv1.Role:
			kinds = append(kinds, o.Kind+" "+o.Namespace+"/"+o.Name)
		case *rbacv1.RoleBinding:
			kinds = append(kinds, o.Kind+" "+o.Namespace+" "+o.RoleRef.Name)
		}
	}
	want := []string{"ClusterRole releases", "ClusterRoleBinding ClusterRole operators/locker", "Role a/releases",
		"RoleBinding a releases", "Role b/releases", "RoleBinding b releases"}
	check.That(t, slices.Equal(kinds, want), "%q", kinds)
}
