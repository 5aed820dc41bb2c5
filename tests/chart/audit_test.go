package chart

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// request is one request in the API server's audit log.
type request struct {
	Verb, Group, Resource, Namespace, Name string
	// As is the impersonated user, or empty.
	As      string
	Allowed bool

	// Code is the HTTP status of the answer.
	Code int
}

// requests returns a ServiceAccount's requests to resources so far.
func requests(e *kit.Env, account string) []request {
	e.Helper()
	user := "system:serviceaccount:" + e.Operator + ":" + account
	var found []request
	check.NoError(e, cluster.ReadAudit(kit.Shared.AuditLog(), 0, func(line []byte) error {
		if !bytes.Contains(line, []byte(user)) {
			return nil
		}
		var event struct {
			Verb             string
			User             struct{ Username string }
			ImpersonatedUser *struct{ Username string }
			ObjectRef        *struct{ Resource, Namespace, Name, APIGroup, Subresource string }
			ResponseStatus   struct{ Code int }
			Annotations      map[string]string
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		if event.User.Username != user || event.ObjectRef == nil {
			return nil
		}
		r := request{Verb: event.Verb, Group: event.ObjectRef.APIGroup, Resource: event.ObjectRef.Resource,
			Namespace: event.ObjectRef.Namespace,
			Name:      event.ObjectRef.Name, Allowed: event.Annotations["authorization.k8s.io/decision"] == "allow",
			Code: event.ResponseStatus.Code}
		if event.ObjectRef.Subresource != "" {
			r.Resource += "/" + event.ObjectRef.Subresource
		}
		if event.ImpersonatedUser != nil {
			r.As = event.ImpersonatedUser.Username
		}
		found = append(found, r)
		return nil
	}))
	return found
}

// refusals returns the forbidden requests, each once.
func refusals(all []request) []request {
	var out []request
	for _, r := range all {
		if (!r.Allowed || r.Code == 403) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// expectPermitted fails the test at each kind of request of an account that was forbidden, after the first ones.
func expectPermitted(e *kit.Env, account string, after int) {
	e.Helper()
	for _, r := range refusals(requests(e, account)[after:]) {
		e.Errorf("not permitted to %s: %+v", account, r)
	}
}

// made reports whether a request of this kind was made; empty parts match all.
func made(all []request, verb, group, resource, namespace string) bool {
	return slices.ContainsFunc(all, func(r request) bool {
		return r.Verb == verb && r.Group == group && r.Resource == resource &&
			(namespace == "" || r.Namespace == namespace)
	})
}
