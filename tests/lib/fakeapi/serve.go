package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if found := s.discovery(r.URL.Path); found != nil {
		answer(w, http.StatusOK, found)
		return
	}
	kind, rest, ok := s.route(r.URL.Path)
	if !ok {
		fail(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, metav1.Unversioned.WithResource(
			r.URL.Path).GroupResource(), "", "", 0, false))
		return
	}
	if rest == "" && r.Method == http.MethodGet {
		s.collection(w, r, kind)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Type") == runtime.ContentTypeProtobuf {
		body, err = fromProtobuf(body)
	}
	if err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	request := Request{Method: r.Method, Path: r.URL.Path, DryRun: r.URL.Query().Get("dryRun") != "",
		Body: string(body)}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if refused := refuse(request); refused != nil {
			fail(w, refused)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, code, refused := s.object(kind, request, r.Header.Get("Content-Type"))
	if refused != nil {
		fail(w, refused)
		return
	}
	answer(w, code, as(r, o))
}

// fromProtobuf returns the JSON of an object of a built-in kind.
func fromProtobuf(body []byte) ([]byte, error) {
	o, kind, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(*kind)
	return json.Marshal(o)
}

// route finds the kind of a path, and the rest of the path after its collection.
func (s *Server) route(path string) (kind Kind, rest string, ok bool) {
	for _, k := range s.served() {
		below, found := strings.CutPrefix(path, prefix(k.GroupVersion())+"/")
		if !found {
			continue
		}
		if k.Namespaced {
			if in, found := strings.CutPrefix(below, "namespaces/"); found {
				_, below, _ = strings.Cut(in, "/")
			}
		}
		if below == k.Resource {
			return k, "", true
		}
		if rest, found := strings.CutPrefix(below, k.Resource+"/"); found &&
			!strings.Contains(strings.TrimSuffix(rest, "/status"), "/") {
			return k, rest, true
		}
	}
	return Kind{}, "", false
}

// object answers a request about one object. mu is held.
func (s *Server) object(
	k Kind, r Request, contentType string,
) (*unstructured.Unstructured, int, *apierrors.StatusError) {
	path := strings.TrimSuffix(r.Path, "/status")
	gr, name := k.GroupResource(), path[strings.LastIndex(path, "/")+1:]
	if r.Method == http.MethodPost {
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(r.Body), &o.Object); err != nil {
			return nil, 0, apierrors.NewBadRequest(err.Error())
		}
		if _, in, found := strings.Cut(path, "/namespaces/"); k.Namespaced && found {
			namespace, _, _ := strings.Cut(in, "/")
			o.SetNamespace(namespace)
		}
		path += "/" + o.GetName()
		if s.objects[path] != nil {
			return nil, 0, apierrors.NewAlreadyExists(gr, o.GetName())
		}
		if !r.DryRun {
			s.store(path, o)
		}
		return o, http.StatusCreated, nil
	}
	old := s.objects[path]
	if old == nil {
		return nil, 0, apierrors.NewNotFound(gr, name)
	}
	switch r.Method {
	case http.MethodGet:
		return old, http.StatusOK, nil
	case http.MethodDelete:
		options := metav1.DeleteOptions{}
		if err := json.Unmarshal([]byte(r.Body), &options); err != nil && r.Body != "" {
			return nil, 0, apierrors.NewBadRequest(err.Error())
		}
		if p := options.Preconditions; p != nil && (p.UID != nil && *p.UID != old.GetUID() ||
			p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion()) {
			return nil, 0, apierrors.NewConflict(gr, name, errPrecondition)
		}
		if !r.DryRun && len(options.DryRun) == 0 {
			s.remove(path)
		}
		return old, http.StatusOK, nil
	}
	o, err := changed(old, []byte(r.Body), contentType)
	if err != nil {
		return nil, 0, apierrors.NewBadRequest(err.Error())
	}
	if v := o.GetResourceVersion(); v != "" && v != old.GetResourceVersion() || o.GetUID() != old.GetUID() {
		return nil, 0, apierrors.NewConflict(gr, name, errPrecondition)
	}
	if !r.DryRun {
		s.store(path, o)
	}
	return o, http.StatusOK, nil
}

var errPrecondition = errors.New("the object has been modified")

// changed returns the result of a PUT or a PATCH. It treats a server-side apply as a merge patch.
func changed(old *unstructured.Unstructured, body []byte, contentType string) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(old.Object)
	if err != nil {
		return nil, err
	}
	after := body
	switch types.PatchType(contentType) {
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, err
		}
		after, err = patch.Apply(before)
		if err != nil {
			return nil, err
		}
	case types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType:
		if body, err = yaml.YAMLToJSON(body); err != nil {
			return nil, err
		}
		if after, err = jsonpatch.MergePatch(before, body); err != nil {
			return nil, err
		}
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(after, &o.Object); err != nil {
		return nil, err
	}
	if o.GetUID() == "" {
		o.SetUID(old.GetUID())
	}
	if old.GetNamespace() != "" {
		o.SetNamespace(old.GetNamespace())
	}
	return o, nil
}

func fail(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.ErrStatus
	status.APIVersion, status.Kind = "v1", "Status"
	answer(w, int(status.Code), status)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		fmt.Fprintln(w, err)
	}
}
