package metrics

import (
	"net/http"
	"strings"
)

// verbWatch is the verb of a watch. The verbs are those of Kubernetes' authorization, and apply for a server-side
// apply.
const verbWatch = "watch"

// purposes are the classes of the operator's own resources. Records and discovery have classes, too, and all else are
// objects.
var purposes = map[string]string{
	"helmreleases.helm.cattle.io":                    "helmreleases",
	"helmreleasepolicies.helm.cattle.io":             "policies",
	"events":                                         "events",
	"events.events.k8s.io":                           "events",
	"leases.coordination.k8s.io":                     "leases",
	"customresourcedefinitions.apiextensions.k8s.io": "definitions",
	"horizontalpodautoscalers.autoscaling":           "autoscalers",
}

// request has the labels of a request. resource, in the form "deployments.apps", is only used as a label of watches:
// their number is that of the locked kinds.
type request struct{ verb, class, resource string }

// classify derives the labels of a request from method, path and query.
func classify(r *http.Request) request {
	group, rest := split(r.URL.Path)
	if len(rest) == 0 {
		return request{verb: "get", class: "discovery"}
	}
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		rest = rest[2:]
	}
	resource := rest[0]
	if group != "" {
		resource += "." + group
	}
	q := request{verb: verbOf(r, len(rest) > 1), class: "objects", resource: resource}
	if class, own := purposes[resource]; own {
		q.class = class
	}
	if (resource == "secrets" || resource == "configmaps") && ofRecords(r, rest) {
		q.class = "records"
	}
	return q
}

// split returns the API group and the part of a path after the version; nothing for a path of no resource.
func split(path string) (group string, rest []string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		return "", parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		return parts[1], parts[3:]
	}
	return "", nil
}

// ofRecords reports whether a request for Secrets or ConfigMaps is for Helm's records.
func ofRecords(r *http.Request, rest []string) bool {
	if len(rest) > 1 {
		return strings.HasPrefix(rest[1], "sh.helm.release.")
	}
	query := r.URL.Query()
	return strings.Contains(query.Get("labelSelector"), "owner=helm") ||
		strings.Contains(query.Get("labelSelector"), "owner in") ||
		strings.Contains(query.Get("fieldSelector"), "helm.sh/release")
}

func verbOf(r *http.Request, named bool) string {
	switch r.Method {
	case http.MethodGet:
		if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			return verbWatch
		}
		if named {
			return "get"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	return "other"
}
