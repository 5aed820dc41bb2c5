package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// audit counts requests in the API server's audit log.
type audit struct{ path string }

// requests counts requests by verb and resource, as in "patch deployments.apps".
type requests map[string]int

// mark returns the present end of the log.
func (a audit) mark() (int64, error) {
	info, err := os.Stat(a.path)
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	return info.Size(), nil
}

// event is one finished request.
type event struct {
	Stage, Verb, UserAgent, RequestURI string
	ObjectRef                          struct{ Resource, Subresource, APIGroup, Namespace string }
}

// by reports whether the user agent begins with agent.
func (e event) by(agent string) bool { return strings.HasPrefix(e.UserAgent, agent) }

func (e event) write() bool {
	return e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" && !strings.Contains(e.RequestURI, "dryRun=All")
}

// writesTo reports whether the request is a write to an object in a namespace.
func (e event) writesTo(namespace string) bool {
	return e.write() && e.ObjectRef.Namespace == namespace && e.ObjectRef.Resource != "events"
}

// String names the request by verb and resource, as in "patch deployments.apps".
func (e event) String() string {
	what := e.ObjectRef.Resource
	if what == "" { // discovery
		what, _, _ = strings.Cut(e.RequestURI, "?")
	}
	if e.ObjectRef.APIGroup != "" {
		what += "." + e.ObjectRef.APIGroup
	}
	if e.ObjectRef.Subresource != "" {
		what += "/" + e.ObjectRef.Subresource
	}
	if strings.Contains(e.RequestURI, "dryRun=All") {
		what += " (dry run)"
	}
	return e.Verb + " " + what
}

// events returns the requests finished since the mark, without watches.
func (a audit) events(mark int64) (all []event, err error) {
	err = a.read(mark, func(e event) { all = append(all, e) })
	return all, err
}

// since counts the agent's requests finished since the mark, without watches.
func (a audit) since(mark int64, agent string) (requests, error) {
	counted := requests{}
	err := a.read(mark, func(e event) {
		if e.by(agent) {
			counted[e.String()]++
		}
	})
	return counted, err
}

func (a audit) read(mark int64, take func(event)) error {
	return cluster.ReadAudit(a.path, mark, func(line []byte) error {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.Verb != "watch" && e.Stage == "ResponseComplete" {
			take(e)
		}
		return nil
	})
}

// apart reports whether a request is no part of a revert: it concerns Events, Leases or HelmReleases.
func apart(request string) bool {
	_, what, _ := strings.Cut(request, " ")
	return what == "events" || strings.HasPrefix(what, "events.") || what == "leases.coordination.k8s.io" ||
		strings.HasPrefix(what, "helmreleases.helm.cattle.io")
}

// work returns how many requests are not apart.
func (r requests) work() int {
	n := 0
	for request, times := range r {
		if !apart(request) {
			n += times
		}
	}
	return n
}

// writes returns how many requests wrote to ConfigMaps and Deployments.
func (r requests) writes() int {
	n := 0
	for request, times := range r {
		verb, what, _ := strings.Cut(request, " ")
		if (what == "configmaps" || what == "deployments.apps") && verb != "get" && verb != "list" {
			n += times
		}
	}
	return n
}

// per describes the requests, divided by n, most frequent first, as in "1.00 list secrets, 0.50 patch configmaps".
func (r requests) per(n int) string {
	part := func(want bool) string {
		var parts []string
		names := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
			if r[a] != r[b] {
				return r[b] - r[a]
			}
			return strings.Compare(a, b)
		})
		for _, name := range names {
			if apart(name) == want {
				parts = append(parts, fmt.Sprintf("%.2f %s", float64(r[name])/float64(n), name))
			}
		}
		if len(parts) == 0 {
			return "none"
		}
		return strings.Join(parts, ", ")
	}
	return part(false) + "; apart: " + part(true)
}
