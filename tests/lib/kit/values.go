package kit

import (
	"slices"
	"strconv"
	"strings"
)

// others returns values of the same type to replace a scalar with.
func others(value any) []any {
	switch v := value.(type) {
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1, v - 1}
	case float64:
		return []any{v + 1}
	case string:
		return otherTexts(v)
	}
	return nil
}

// otherTexts returns texts in place of one: others of its enumeration, other numbers at its begin or end, and
// longer ones. The last is base64, for the data of a Secret.
func otherTexts(v string) []any {
	var found []any
	for _, e := range enumerations() {
		if i := slices.Index(e, v); i >= 0 {
			found = append(found, e[(i+1)%len(e)])
		}
	}
	end := strings.TrimRight(v, "0123456789")
	if n, err := strconv.Atoi(v[len(end):]); err == nil {
		found = append(found, end+strconv.Itoa(n+1))
	}
	unit := strings.TrimLeft(v, "0123456789")
	if n, err := strconv.Atoi(strings.TrimSuffix(v, unit)); err == nil && unit != "" {
		found = append(found, strconv.Itoa(n+1)+unit)
	}
	return append(found, v+"-x", v+"x", "dGFtcGVyZWQ=")
}

// enumerations returns sets of values; in some field, the API server accepts only the values of one set.
func enumerations() [][]string {
	return [][]string{
		{"TCP", "UDP"}, {"http", "https"}, {"Always", "IfNotPresent", "Never"}, {"Fail", "Ignore"},
		{"Equivalent", "Exact"},
		{"Prefix", "Exact"}, {"ClusterIP", "NodePort", "LoadBalancer"}, {"RollingUpdate", "Recreate", "OnDelete"},
		{"HTTP", "HTTPS"}, {"ReadWriteOnce", "ReadWriteMany"}, {"Local", "Cluster"},
		{"None", "ClientIP", "NoneOnDryRun"},
		{"Namespaced", "Cluster", "*"}, {"CREATE", "UPDATE", "DELETE"}, {"NotIn", "In"}, {"OrderedReady", "Parallel"},
		{"ClusterFirst", "Default"}, {"RuntimeDefault", "Unconfined"}, {"cpu", "memory"},
		{"string", "integer", "boolean"},
		{"object", "array"}, {"SingleStack", "PreferDualStack"}, {"Ingress", "Egress"}, {"true", "false"},
		{"ServiceAccount", "User"}, {"map", "atomic", "set"}, {"int32", "int64"},
	}
}
