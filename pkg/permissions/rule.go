package permissions

import (
	"cmp"
	"encoding/json"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rule is an RBAC rule and where it holds. In JSON it is a PolicyRule with one more field, namespaces: an entry of the
// chart's value rbac.rules.
type Rule struct {
	// Namespaces are where the rule holds; empty for the whole cluster.
	Namespaces []string `json:"namespaces,omitempty"`
	rbacv1.PolicyRule
}

// verbs in their usual order.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"}

func byVerb(a, b string) int {
	i, j := slices.Index(verbs, a), slices.Index(verbs, b)
	if i < 0 || j < 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(i, j)
}

// compact returns fewer rules with the same grants, in an order that depends on the grants only.
func compact(rules []Rule) []Rule {
	for _, by := range []func(*Rule) *[]string{
		func(r *Rule) *[]string { return &r.Verbs },
		func(r *Rule) *[]string { return &r.ResourceNames },
		func(r *Rule) *[]string { return &r.Namespaces },
		func(r *Rule) *[]string { return &r.Resources },
	} {
		rules = union(rules, by)
	}
	slices.SortFunc(rules, compare)
	return rules
}

// union joins rules that are equal except for the field of by. A rule without a value there covers everything (all
// names, the whole cluster), so it is joined only with rules of its kind.
func union(rules []Rule, by func(*Rule) *[]string) []Rule {
	var out []Rule
	at := map[string]int{}
	for _, rule := range rules {
		rest := rule
		field := by(&rest)
		values, limited := *field, len(*field) > 0
		*field = nil
		key := encoded(rest)
		if limited {
			key += "+"
		}
		i, known := at[key]
		if !known {
			at[key] = len(out)
			out = append(out, sorted(rule))
			continue
		}
		joined := by(&out[i])
		*joined = slices.Concat(*joined, values)
		out[i] = sorted(out[i])
	}
	return out
}

// sorted returns the rule with the values of every field in order, each once. It shares nothing with r.
func sorted(r Rule) Rule {
	set := func(values []string, order func(a, b string) int) []string {
		values = slices.Clone(values)
		slices.SortFunc(values, order)
		return slices.Compact(values)
	}
	r.Verbs = set(r.Verbs, byVerb)
	r.Namespaces, r.APIGroups, r.Resources = set(r.Namespaces, cmp.Compare), set(r.APIGroups, cmp.Compare),
		set(r.Resources, cmp.Compare)
	r.ResourceNames, r.NonResourceURLs = set(r.ResourceNames, cmp.Compare), set(r.NonResourceURLs, cmp.Compare)
	return r
}

// compare orders what holds in the whole cluster before the rest.
func compare(a, b Rule) int {
	return cmp.Or(
		slices.Compare(a.Namespaces, b.Namespaces),
		slices.Compare(a.APIGroups, b.APIGroups),
		slices.Compare(a.Resources, b.Resources),
		slices.CompareFunc(a.Verbs, b.Verbs, byVerb),
		slices.Compare(a.ResourceNames, b.ResourceNames),
		slices.Compare(a.NonResourceURLs, b.NonResourceURLs),
	)
}

// encoded returns a text that is the same for equal rules and for no others.
func encoded(r Rule) string {
	text, err := json.Marshal(sorted(r))
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(text)
}
