package oracle

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"
)

// story is a recording made up by a test: each call is a moment later than the previous one.
type story struct {
	testing.TB
	clock    time.Time
	revision int64
	state    map[string]object
	events   []*Event
	requests []*Request
	excused  []exception
}

func newStory(t testing.TB) *story {
	return &story{TB: t, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), state: map[string]object{}}
}

// wait lets time pass.
func (s *story) wait(d time.Duration) { s.clock = s.clock.Add(d) }

// outage lets time pass without an API server.
func (s *story) outage(d time.Duration) {
	down := s.clock
	s.wait(d)
	s.excused = append(s.excused, exception{Down: down, Up: s.clock})
}

// put stores an object as somebody, and returns its resourceVersion; nil deletes it.
func (s *story) put(key string, o object) string {
	s.wait(time.Millisecond)
	s.revision++
	s.events = append(s.events, &Event{Revision: s.revision, At: s.clock, Key: key, Value: o})
	s.state[key] = o
	return strconv.FormatInt(s.revision, 10)
}

// request makes a request of an operator's or of Helm's.
func (s *story) request(user, verb, uri string, code int) *Request {
	s.wait(time.Millisecond)
	r := &Request{Stage: "ResponseComplete", Verb: verb, RequestURI: uri, Received: s.clock,
		Done: s.clock.Add(1500 * time.Microsecond)}
	r.User.Username, r.ResponseStatus.Code = user, code
	if user != helmUser {
		r.User.Groups = []string{operatorsGroup}
	}
	s.requests = append(s.requests, r)
	return r
}

// write stores an object as an operator or Helm by a patch, and returns the request.
func (s *story) write(user, key string, o object) *Request {
	verb := "patch"
	if s.state[key] == nil {
		verb = "create"
	}
	r := s.request(user, verb, "/api/v1/namespaces/apps/configmaps/settings", 200)
	version := s.put(key, o)
	r.ResponseObject = object{"metadata": map[string]any{"resourceVersion": version}}
	return r
}

// remove has an operator delete an object, and returns the request.
func (s *story) remove(user, key string) *Request {
	o := s.state[key]
	r := s.request(user, "delete", "/api/v1/namespaces/apps/configmaps/settings", 200)
	r.ResponseObject = object{"details": map[string]any{"uid": o.text("metadata", "uid")}}
	s.put(key, nil)
	return r
}

// check has the operator read the records.
func (s *story) check() {
	r := s.request(locker, "list", "/api/v1/namespaces/apps/secrets?labelSelector=owner%3Dhelm%2Cname%3Dshop", 200)
	r.ObjectRef.Resource, r.ObjectRef.Namespace = "secrets", "apps"
}

const (
	locker   = "helm-locker:locker"
	settings = "/registry/configmaps/apps/settings"
)

// stored is a record of release shop.
type stored struct {
	namespace string
	version   int
	status    string
	as        string // the namespace of the objects
	method    string
	manifest  string
	hook      string // the phase of its pre-upgrade hook, "none" before it began; empty without one
}

// record stores a record.
func (s *story) record(r stored) {
	namespace, version, status := r.namespace, r.version, r.status
	payload := map[string]any{"name": "shop", "namespace": r.as, "version": version, "manifest": r.manifest,
		"apply_method": r.method, "info": map[string]any{"status": status}}
	if r.hook != "" {
		payload["hooks"] = []any{map[string]any{"events": []any{"post-install", "pre-upgrade"},
			"last_run": map[string]any{"phase": strings.TrimPrefix(r.hook, "none")}}}
	}
	content, err := json.Marshal(payload)
	if err != nil {
		s.Fatal(err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(content); err != nil {
		s.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		s.Fatal(err)
	}
	helms := base64.StdEncoding.EncodeToString(packed.Bytes())
	name := fmt.Sprintf("sh.helm.release.v1.shop.v%d", version)
	s.put("/registry/secrets/"+namespace+"/"+name, object{"apiVersion": "v1", "kind": "Secret",
		"type": "helm.sh/release.v1", "data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(helms))},
		"metadata": map[string]any{"name": name, "namespace": namespace, "uid": name, "labels": map[string]any{
			"owner": "helm", "name": "shop", "version": strconv.Itoa(version), "status": status}}})
}

// shop stores a record of the release apps/shop.
func (s *story) shop(version int, status, manifest string) {
	s.record(stored{"apps", version, status, "apps", "", manifest, ""})
}

// elsewhere stores the release in another namespace, too, and locks that.
func (s *story) elsewhere() {
	s.record(stored{"flux", 1, "deployed", "apps", "", configMap("one"), ""})
	s.lock(map[string]any{"release": map[string]any{"namespace": "flux", "name": "shop"}}, nil)
}

// lock stores a HelmRelease for it, as a user.
func (s *story) lock(spec, status map[string]any) {
	s.put("/registry/helm.cattle.io/helmreleases/locker/shop", helmRelease("shop", spec, status))
}

func helmRelease(name string, spec, status map[string]any) object {
	full := map[string]any{"release": map[string]any{"namespace": "apps", "name": "shop"}}
	maps.Copy(full, spec)
	return object{"apiVersion": "helm.cattle.io/v1alpha1", "kind": "HelmRelease", "spec": full, "status": status,
		"metadata": map[string]any{"namespace": "locker", "name": name}}
}

// labelled gives an object a label.
func (o object) labelled(key, value string) object {
	o.fields("metadata")["labels"] = map[string]any{key: value}
	return o
}

// configMap returns the manifest of a ConfigMap.
func configMap(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: " + value + "}\n"
}

// settingsAs returns it as it is live, owned by managers ("helm/Update").
func settingsAs(value string, managers ...string) object {
	if managers == nil {
		managers = []string{"helm/Update"}
	}
	var owners []any
	for _, m := range managers {
		manager, operation, _ := bytes.Cut([]byte(m), []byte("/"))
		fields := map[string]any{"f:data": map[string]any{"f:key": map[string]any{}}}
		if string(manager) == "helm" {
			fields["f:metadata"] = map[string]any{
				"f:labels": map[string]any{"f:app.kubernetes.io/managed-by": map[string]any{}},
				"f:annotations": map[string]any{"f:" + releaseName: map[string]any{},
					"f:" + releaseNamespace: map[string]any{}}}
		}
		owners = append(owners, map[string]any{"manager": string(manager), "operation": string(operation),
			"fieldsV1": fields})
	}
	return object{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": value},
		"metadata": map[string]any{"name": "settings", "namespace": "apps", "uid": "uid-of-settings",
			"labels":        map[string]any{"app.kubernetes.io/managed-by": "Helm"},
			"annotations":   map[string]any{releaseName: "shop", releaseNamespace: "apps"},
			"managedFields": owners}}
}

// annotated adds an annotation to an object.
func (o object) annotated(key, value string) object {
	o.fields("metadata", "annotations")[key] = value
	return o
}

// judged runs the oracle over the story, and returns how often each rule was broken.
func (s *story) judged() (map[string]int, *Report) {
	s.Helper()
	r := newReport()
	err := recording{
		requests: func(take func(*Request)) error {
			for _, r := range s.requests {
				take(r)
			}
			return nil
		},
		events: func(take func(*Event)) error {
			for _, e := range s.events {
				take(e)
			}
			return nil
		},
		notes: s.excused,
	}.judge(r)
	if err != nil {
		s.Fatal(err)
	}
	broken := map[string]int{}
	for _, v := range r.violations {
		broken[v.rule]++
		s.Log(v.rule, v.id, v.what)
	}
	return broken, r
}
