package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/permissions"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// rulesOf reads the output of helm-locker rbac -o values.
func rulesOf(t testing.TB, values string) []permissions.Rule {
	t.Helper()
	var parsed struct {
		RBAC struct {
			Profile string             `json:"profile"`
			Rules   []permissions.Rule `json:"rules"`
		} `json:"rbac"`
	}
	check.NoError(t, yaml.UnmarshalStrict([]byte(values), &parsed))
	check.Must(t, parsed.RBAC.Profile == "scoped" && len(parsed.RBAC.Rules) > 0, "no rules of the profile scoped:\n%s",
		values)
	return parsed.RBAC.Rules
}

// The printed rules suffice for two releases with objects of every difficult kind: every changed or deleted object is
// restored and prune candidates are deleted, without one refusal. And they are minimal: every granted verb on the
// kinds of the releases was used, as the API server's audit log shows.
func TestScopedRulesAreEnoughAndNoMore(t *testing.T) {
	for _, names := range []bool{false, true} {
		t.Run(fmt.Sprintf("names=%v", names), func(t *testing.T) {
			e := newEnv(t)
			elsewhere := e.Namespace(e.Apps + "-elsewhere")
			installEstate(e, kit.Shared.Helm3(), "csa", elsewhere)
			installEstate(e, kit.Shared.Helm4(), "ssa", elsewhere)
			args := []string{"rbac", e.Apps + "/csa", e.Apps + "/ssa", "-o", "values"}
			if names {
				args = append(args, "--names")
			}
			values, notes := cli(e, args...)
			checkNotes(t, e, notes)
			// No one saw who stored the revisions, and only leftovers of trusted ones are deleted.
			install(e, kit.Shared.Helm4(), freePorts(t), values, "{trust: {records: Any}}")
			startDeployment(e, kit.Shared, "helm-locker")
			startDeployment(e, kit.Shared, "helm-locker-policies")

			e.Lock("csa")
			e.Lock("ssa") // later: its objects are looked at one by one
			objects := append(estateObjects(e, "csa", elsewhere), estateObjects(e, "ssa", elsewhere)...)
			for _, o := range objects {
				o.tamper(e)
				o.waitRestored(e, "")
			}
			for _, o := range objects {
				if !o.aggregated() {
					o.waitRestored(e, o.delete(e))
				}
			}
			for _, release := range []string{"csa", "ssa"} {
				e.Eventually("what is left over is gone", func() error {
					for _, o := range formerObjects(e, release) {
						if o.get(e) != nil {
							return fmt.Errorf("%s is there", o)
						}
					}
					return nil
				})
				e.WaitReady(release, 3)
			}
			followPolicy(e, "csa")
			all := requests(e, "helm-locker")
			for _, r := range refusals(all) {
				t.Errorf("not permitted: %+v", r)
			}
			expectUsed(t, rulesOf(t, values), all)
			expectBaseUsed(t, e, all)
		})
	}
}

// checkNotes expects a note for each object whose rules imply further rights.
func checkNotes(t *testing.T, e *kit.Env, notes string) {
	t.Helper()
	for _, release := range []string{"csa", "ssa"} {
		for _, want := range []string{
			"Role " + e.Apps + "/" + release + ": to restore it the operator has to have itself what it grants",
			"RoleBinding " + e.Apps + "/" + release + ": to restore it the operator may give Role " + release +
				" to any subject in namespace " + e.Apps,
			"ClusterRole " + e.Apps + "-" + release + ": to restore it the operator has to have itself what it grants",
			"ClusterRole " + e.Apps + "-" + release + "-aggregated is aggregated",
			"ClusterRoleBinding " + e.Apps + "-" + release + ": to restore it the operator may give ClusterRole view to any subject in the whole cluster",
		} {
			check.That(t, strings.Contains(notes, "note: "+want), "no note says %q:\n%s", want, notes)
		}
	}
}

// expectUsed expects every verb of the rules about the kinds of the estate to have been used, in every namespace of
// the rule. Deletions may be missing except in the few cases of the prune candidates.
func expectUsed(t *testing.T, rules []permissions.Rule, all []request) {
	t.Helper()
	kinds := []string{"configmaps", "secrets", "services", "deployments", "cronjobs", "roles", "rolebindings",
		"clusterroles", "clusterrolebindings", "validatingadmissionpolicies"}
	deleted := false
	for _, rule := range rules {
		namespaces := rule.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		for _, resource := range rule.Resources {
			if !slices.Contains(kinds, resource) {
				continue // what a Role grants
			}
			for _, verb := range rule.Verbs {
				if verb == "bind" || verb == "escalate" {
					continue // asked by the API server itself
				}
				for _, namespace := range namespaces {
					used := made(all, verb, rule.APIGroups[0], resource, namespace)
					deleted = deleted || used && verb == "delete"
					if !used && verb != "delete" && !(resource == "cronjobs" && verb == "create") {
						t.Errorf("granted and never used: %s %s in %q", verb, resource, namespace)
					}
				}
			}
		}
	}
	check.That(t, deleted, "nothing was deleted")
}

// For every missing permission, the condition names verb and resource.
func TestMissingPermissionIsNamedInTheCondition(t *testing.T) {
	type scene struct {
		resource, verb string
		// act makes the operator need it, if locking does not.
		act  func(e *kit.Env, objects map[string]estateObject)
		says string
	}
	tamper := func(resource string) func(*kit.Env, map[string]estateObject) {
		return func(e *kit.Env, objects map[string]estateObject) { objects[resource].tamper(e) }
	}
	remove := func(resource string) func(*kit.Env, map[string]estateObject) {
		return func(e *kit.Env, objects map[string]estateObject) { objects[resource].delete(e) }
	}
	for name, s := range map[string]scene{
		"patch": {"services", "patch", tamper("services"),
			`cannot patch resource "services" in API group "" in the namespace "APPS"`},
		"patch a Secret": {"secrets", "patch", tamper("secrets"),
			`cannot patch resource "secrets" in API group "" in the namespace "APPS"`},
		"patch what is cluster-scoped": {"clusterroles", "patch", tamper("clusterroles"),
			`cannot patch resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`},
		"create": {"services", "create", remove("services"),
			`cannot create resource "services" in API group "" in the namespace "APPS"`},
		"watch":          {"services", "watch", nil, `cannot watch resource "services" in API group "" at the cluster scope`},
		"get the record": {"secrets", "get", nil, `cannot get resource "secrets" in API group "" in the namespace "APPS"`},
		"bind": {"clusterroles", "bind", remove("clusterrolebindings"),
			"attempting to grant RBAC permissions not currently held"},
		"hold what a Role grants": {"pods", "list", remove("roles"),
			`is attempting to grant RBAC permissions not currently held: {APIGroups:[""], Resources:["pods"], Verbs:["list"]}`},
		"escalate": {"clusterroles", "escalate", func(e *kit.Env, objects map[string]estateObject) {
			objects["aggregated"].tamper(e)
		},
			"must have cluster-admin privileges to use the aggregationRule"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			elsewhere := e.Namespace(e.Apps + "-elsewhere")
			e.Helm(kit.Shared.Helm4(), "install", "web", e.Chart("estate", estate), "--set", "elsewhere="+
				elsewhere, "--set", "small=true")
			values, _ := cli(e, "rbac", e.Apps+"/web", "-o", "values")
			rules := without(rulesOf(t, values), s.verb, s.resource)
			encoded, err := yaml.Marshal(map[string]any{"rbac": map[string]any{"profile": "scoped", "rules": rules}})
			check.NoError(t, err)
			install(e, kit.Shared.Helm4(), freePorts(t), string(encoded))
			startDeployment(e, kit.Shared, "helm-locker")
			objects := map[string]estateObject{}
			for _, o := range slices.Backward(estateObjects(e, "web", elsewhere)) {
				objects[o.gvr.Resource] = o
				if o.aggregated() {
					objects["aggregated"] = o
				}
			}
			if s.act == nil {
				e.CreateHelmRelease("web")
			} else {
				e.Lock("web")
				s.act(e, objects)
			}
			want := strings.ReplaceAll(s.says, "APPS", e.Apps)
			e.Eventually("the condition says what is missing", func() error {
				c := e.Condition("web", v1alpha1.ConditionReady)
				if c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonForbidden ||
					!strings.Contains(c.Message, want) {
					return fmt.Errorf("it is %s %s: %s", c.Status, c.Reason, c.Message)
				}
				return nil
			})
			c := e.Condition("web", v1alpha1.ConditionStalled)
			check.That(t, c.Status == metav1.ConditionTrue, "Stalled is %q", c.Status)

			install(e, kit.Shared.Helm4(), values) // what is missing is granted
			e.WaitReady("web", 1)
		})
	}
}

// without returns rules that do not grant a verb on a resource.
func without(rules []permissions.Rule, verb, resource string) []permissions.Rule {
	var out []permissions.Rule
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, resource) || !slices.Contains(rule.Verbs, verb) {
			out = append(out, rule)
			continue
		}
		others, rest := rule, rule
		others.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == resource })
		rest.Resources = []string{resource}
		rest.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
		for _, r := range []permissions.Rule{others, rest} {
			if len(r.Resources) > 0 && len(r.Verbs) > 0 {
				out = append(out, r)
			}
		}
	}
	return out
}

// The objects of -o yaml grant the same as the values do.
func TestRBACAsObjects(t *testing.T) {
	e := newEnv(t)
	elsewhere := e.Namespace(e.Apps + "-elsewhere")
	installEstate(e, kit.Shared.Helm4(), "web", elsewhere)
	values, _ := cli(e, "rbac", "web", "-n", e.Apps, "-o", "values")
	text, _ := cli(e, "rbac", "web", "-n", e.Apps, "--role", "locked-"+e.Apps, "--service-account", "mine")
	granted := map[string][]rbacv1.PolicyRule{}
	for _, u := range documents(t, text) {
		var role rbacv1.ClusterRole
		var binding rbacv1.ClusterRoleBinding
		encoded, err := yaml.Marshal(u.Object)
		check.NoError(t, err)
		check.Equal(t, u.GetName(), "locked-"+e.Apps, "%s is called", u.GetKind())
		if strings.HasSuffix(u.GetKind(), "Binding") {
			check.NoError(t, yaml.Unmarshal(encoded, &binding))
			if want := (rbacv1.Subject{Kind: "ServiceAccount", Name: "mine",
				Namespace: e.Operator}); len(binding.Subjects) != 1 || binding.Subjects[0] != want {
				t.Errorf("bound to %+v", binding.Subjects)
			}
			continue
		}
		check.NoError(t, yaml.Unmarshal(encoded, &role))
		granted[role.Namespace] = role.Rules
	}
	want := map[string]int{}
	for _, rule := range rulesOf(t, values) {
		if len(rule.Namespaces) == 0 {
			want[""]++
		}
		for _, namespace := range rule.Namespaces {
			want[namespace]++
		}
	}
	for namespace, n := range want {
		check.That(t, len(granted[namespace]) == n, "in %q %d rules are granted as objects, and %d as values", namespace,
			len(granted[namespace]), n)
	}
	check.That(t, len(granted) == len(want) && len(want) == 3, "rules in %d and %d places: %v", len(granted), len(want),
		want)
}
