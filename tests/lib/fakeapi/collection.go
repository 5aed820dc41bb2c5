package fakeapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// collection answers a list or a watch.
func (s *Server) collection(w http.ResponseWriter, r *http.Request, k Kind) {
	query := r.URL.Query()
	labelled, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	selected, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	under := r.URL.Path + "/"
	// The only fields of an object that field selectors name in these tests.
	named := func(o *unstructured.Unstructured) fields.Set {
		kind, _ := o.Object["type"].(string)
		return fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace(), "type": kind}
	}
	matches := func(path string, o *unstructured.Unstructured) bool {
		at, _, ok := s.route(path)
		return ok && at == k && (strings.HasPrefix(path, under) || !strings.Contains(under, "/namespaces/")) &&
			labelled.Matches(labels.Set(o.GetLabels())) &&
			selected.Matches(named(o))
	}
	if query.Get("watch") != "" {
		s.watch(w, r, k, matches)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}}
	items := []any{}
	for _, o := range s.sorted(matches) {
		items = append(items, as(r, o))
	}
	list["items"] = items
	if onlyMetadata(r) {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	answer(w, http.StatusOK, list)
}

// watch streams events until the client disconnects: first the existing objects if requested, then the changes after
// the requested version.
func (s *Server) watch(
	w http.ResponseWriter, r *http.Request, k Kind, matches func(string, *unstructured.Unstructured) bool,
) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	flusher, _ := w.(http.Flusher)
	send := func(kind string, object any) {
		if err := json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": object}); err != nil {
			return // the client has gone, which ends its context
		}
	}
	known := map[string]bool{} // the paths that the client knows
	from, err := strconv.Atoi(query.Get("resourceVersion"))
	s.mu.Lock()
	if query.Get("sendInitialEvents") == "true" || err != nil || from == 0 {
		for _, o := range s.sorted(matches) {
			send("ADDED", as(r, o))
			known[s.pathOf(o)] = true
		}
		from = s.version
		send("BOOKMARK", as(r, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": k.GroupVersion().String(), "kind": k.Kind, "metadata": map[string]any{
				"resourceVersion": strconv.Itoa(from),
				"annotations":     map[string]any{metav1.InitialEventsAnnotationKey: "true"},
			},
		}}))
	}
	for {
		for _, e := range s.history {
			if e.version <= from {
				continue
			}
			switch fits := matches(e.path, e.object); {
			case fits:
				send(e.kind, as(r, e.object))
				known[e.path] = e.kind != "DELETED"
			case known[e.path]: // its labels are others now
				send("DELETED", as(r, e.object))
				known[e.path] = false
			}
		}
		from = s.version
		changed := s.changed
		s.mu.Unlock()
		flusher.Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		s.mu.Lock()
	}
}

func onlyMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// as returns an object in the representation requested by the client.
func as(r *http.Request, o *unstructured.Unstructured) any {
	if !onlyMetadata(r) {
		return o.Object
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o.Object["metadata"]}
}

// sorted returns the objects of a kind in a namespace (all for an empty one), by path. mu is held.
func (s *Server) sorted(matches func(path string, o *unstructured.Unstructured) bool) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for path, o := range s.objects {
		if matches(path, o) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}
