package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// objectKey names an object.
type objectKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (k objectKey) String() string { return k.resource.Resource + " " + k.namespace + "/" + k.name }

// state is one state of an object stored by the API server.
type state struct {
	version uint64
	uid     types.UID
	deleted bool
	mark    string // empty when it has none that a Helm command gave
	// gap is set on the first state after states may have been missed.
	gap bool
}

// histories contain all states of the objects of the chart, by a separate watch. The answers to the operator's writes
// identify the states written by it. It is safe for concurrent use.
type histories struct {
	client dynamic.Interface

	mu       sync.Mutex
	states   map[objectKey][]state
	operator map[uint64]string // what it asked for, by the version that came of it
}

// resources are those of the chart.
func resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"},
		{Version: "v1", Resource: "services"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	}
}

// newMark returns the n-th mark. A tamperer who edits a value increments a number at its end, and must not produce
// another mark.
func newMark(n int64) string { return fmt.Sprintf("m%dk", n) }

// markOf returns the mark of a Helm command; empty for none and for a tamperer's value.
func markOf(u *unstructured.Unstructured) string {
	mark := u.GetAnnotations()[markKey]
	number, begins := strings.CutPrefix(mark, "m")
	number, ends := strings.CutSuffix(number, "k")
	if _, err := strconv.ParseUint(number, 10, 63); !begins || !ends || err != nil {
		return ""
	}
	return mark
}

// follow records the states of a resource until ctx ends, over every break of the watch.
func (h *histories) follow(
	ctx context.Context, gvr schema.GroupVersionResource, wait func(context.Context) error,
) error {
	for ctx.Err() == nil {
		if err := h.followOnce(ctx, gvr); err != nil && ctx.Err() == nil {
			if err := wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *histories) followOnce(ctx context.Context, gvr schema.GroupVersionResource) error {
	// No label selector: a tampered object, and Helm's writes to it meanwhile, would leave the watch.
	options := metav1.ListOptions{}
	if gvr.Resource == "secrets" {
		options.FieldSelector = "type!=" + release.SecretType
	}
	list, err := h.client.Resource(gvr).List(ctx, options)
	if err != nil {
		return err
	}
	for i := range list.Items {
		h.add(gvr, &list.Items[i], false, true)
	}
	options.ResourceVersion = list.GetResourceVersion()
	w, err := h.client.Resource(gvr).Watch(ctx, options)
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == apiwatch.Error {
			return fmt.Errorf("watch of %s ended", gvr.Resource)
		}
		if event.Type != apiwatch.Bookmark {
			h.add(gvr, u, event.Type == apiwatch.Deleted, false)
		}
	}
	return fmt.Errorf("watch of %s ended", gvr.Resource)
}

func (h *histories) add(gvr schema.GroupVersionResource, u *unstructured.Unstructured, deleted, gap bool) {
	version, err := strconv.ParseUint(u.GetResourceVersion(), 10, 64)
	if err != nil || !strings.HasPrefix(u.GetName(), releasePrefix) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := objectKey{gvr, u.GetNamespace(), u.GetName()}
	if all := h.states[key]; len(all) > 0 && all[len(all)-1].version >= version {
		return
	}
	h.states[key] = append(h.states[key], state{version: version, uid: u.GetUID(), deleted: deleted, mark: markOf(u),
		gap: gap})
}

// attribute records every answer to a write of the operator through a proxy. It must be the first hook, and see the
// answers that later hooks lose.
func (h *histories) attribute(p *cluster.Proxy) {
	p.Intercept(func(r *http.Request) cluster.Action {
		if !cluster.IsWrite(r) || r.URL.Query().Get("dryRun") != "" {
			return cluster.Forward()
		}
		before := ""
		if body, err := r.GetBody(); err == nil {
			if content, err := io.ReadAll(body); err == nil {
				before = versionIn(content)
			}
		}
		return cluster.Action{After: func(response *http.Response) error {
			return h.written(response, before, r.Method+" "+r.Header.Get("Content-Type"))
		}}
	})
}

// versionIn returns the resourceVersion of an object; empty for none.
func versionIn(content []byte) string {
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if json.Unmarshal(content, &object) != nil {
		return "" // protobuf: a lease or an event; or a JSON patch: a status
	}
	return object.Metadata.ResourceVersion
}

// written processes an answer to a write with a version as its precondition.
func (h *histories) written(response *http.Response, before, what string) error {
	if response.StatusCode >= http.StatusBadRequest {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	answer := versionIn(body)
	if answer == before {
		return nil // a write that changed nothing is answered with the object as somebody else wrote it
	}
	version, err := strconv.ParseUint(answer, 10, 64)
	if err != nil {
		return nil // a deletion answers with a Status
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operator[version] = fmt.Sprintf("%s of version %q", what, before)
	return nil
}

// reverted returns every write of the operator that undid one of Helm's, and the number of judged writes.
func (h *histories) reverted() (violations []*wrongObject, judged int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, states := range h.states {
		bad, n := revertedIn(states, h.operator)
		judged += n
		for _, b := range bad {
			violations = append(violations, &wrongObject{key, b})
		}
	}
	slices.SortFunc(violations, func(a, b *wrongObject) int { return strings.Compare(a.Error(), b.Error()) })
	return violations, judged
}

// revertedIn judges the states of one object. A write of the operator to an existing object must leave Helm's last
// mark. A re-created object may be older than a Helm command that has just begun, if the next event is its deletion
// by the operator or a write of Helm's.
func revertedIn(states []state, operator map[uint64]string) (violations []string, judged int) {
	helm := "" // the mark that Helm gave last; empty when that is not known
	for i, s := range states {
		if s.gap {
			helm = ""
		}
		switch {
		case s.deleted || s.mark == "":
		case operator[s.version] == "":
			helm = s.mark // a tamperer's write of something else leaves the mark as it is
		case helm != "":
			judged++
			created := i == 0 || states[i-1].uid != s.uid
			if s.mark != helm && !(created && withdrawn(states[i:], operator)) {
				violations = append(violations, fmt.Sprintf("Helm had written %s, and the operator wrote %s; %s", helm,
					s.mark, around(states, i, operator)))
			}
		}
	}
	return violations, judged
}

// withdrawn reports whether the first of the states is followed by the object's deletion, or by a write of Helm's.
func withdrawn(states []state, operator map[uint64]string) bool {
	first := states[0]
	for _, s := range states[1:] {
		switch {
		case s.deleted || s.uid != first.uid || s.gap:
			return true
		case operator[s.version] != "":
			return false
		case s.mark != "" && s.mark != first.mark:
			return true
		}
	}
	return false
}

// around describes the states before and after the i-th, for a message.
func around(states []state, i int, operator map[uint64]string) string {
	var parts []string
	for at := max(0, i-3); at < min(len(states), i+3); at++ {
		s, who := states[at], "other"
		if write := operator[s.version]; write != "" {
			who = "operator (" + write + ")"
		}
		what := s.mark
		if s.deleted {
			what = "deleted"
		}
		parts = append(parts, fmt.Sprintf("%d %s %.4s %q", s.version, who, s.uid, what))
	}
	return "the history is " + strings.Join(parts, ", ")
}
