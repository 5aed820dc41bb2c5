package guard

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/rawjson"
)

const (
	// timeoutSeconds is how long the API server waits for an answer, and decisionTimeout how long a decision may take,
	// the wait for its turn included.
	timeoutSeconds  = 2
	decisionTimeout = 1500 * time.Millisecond
	// maxReview bounds a request. It has the object twice, as it is and as the request makes it. etcd takes 1.5 MiB of
	// each, and JSON is up to ten times as large: a "<" takes six bytes there, a field's name more than its number.
	maxReview = 32 << 20
	// headBytes are within which a review names its namespace: API servers write the objects after that.
	headBytes = 4 << 10
	// maxWarning is how long a warning may be that kubectl shows whole.
	maxWarning = 256
)

// classes are the reviews by their size. Each class has slots of its own, of which namespaces take turns: decoded, a
// review takes about ten times as much memory, and a user that changes large objects all the time, or many objects at
// once, takes the guard from no other namespace. The requests that find too many of their namespace waiting pass.
var classes = []struct {
	size   int64 // of the largest one
	limits fair.Limits
}{
	{128 << 10, fair.Limits{All: 32, Each: 12, Queue: 256}},
	{2 << 20, fair.Limits{All: 3, Each: 1, Queue: 32}},
	{maxReview, fair.Limits{All: 1, Each: 1, Queue: 8}},
}

// handler answers the AdmissionReviews that come to a path. Every answer but one of 200 lets the request pass, as the
// registration says so.
type handler struct {
	// path returns the path that the API server was told; empty while it was told none.
	path   func() string
	decide Decide
	// rooms have the slots of each of classes.
	rooms []*fair.Semaphore

	log  logrus.FieldLogger
	wait time.Duration
}

// NewHandler returns the handler that answers the API server at a path, which may change; empty for none yet.
func NewHandler(path func() string, decide Decide, log logrus.FieldLogger) http.Handler {
	return newHandler(path, decide, log)
}

func newHandler(path func() string, decide Decide, log logrus.FieldLogger) *handler {
	h := &handler{path: path, decide: decide, log: log, wait: decisionTimeout}
	for _, class := range classes {
		h.rooms = append(h.rooms, fair.NewSemaphore(class.limits))
	}
	return h
}

// ServeHTTP answers one request. The path cannot be guessed: who could ask whatever they like would learn from the
// answers what objects hold.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := h.path()
	if path == "" || subtle.ConstantTimeCompare([]byte(r.URL.Path), []byte(path)) != 1 {
		http.NotFound(w, r)
		return
	}
	if r.ContentLength < 0 || r.ContentLength > maxReview {
		http.Error(w, "the review is too large", http.StatusRequestEntityTooLarge)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.wait)
	defer cancel()
	review, leave, err := h.read(ctx, r)
	if err != nil {
		code := http.StatusBadRequest
		if ctx.Err() != nil || errors.Is(err, fair.ErrBusy) {
			code = http.StatusServiceUnavailable
		}
		http.Error(w, "no review that can be answered now", code)
		return
	}
	decision := h.ask(ctx, review.Request, leave)
	review.Response, review.Request = response(review.Request, decision), nil
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		h.log.Debugf("guard: answer the API server: %v", err)
	}
}

// read reads a review once there is a slot for it, which leave gives back. Until then only the head is in memory.
func (h *handler) read(ctx context.Context, r *http.Request) (
	review *admissionv1.AdmissionReview, leave func(), err error,
) {
	head := make([]byte, min(r.ContentLength, headBytes))
	if _, err := io.ReadFull(r.Body, head); err != nil {
		return nil, nil, err
	}
	if leave, err = h.roomFor(r.ContentLength).Acquire(ctx, namespaceIn(head)); err != nil {
		return nil, nil, err
	}
	body := append(make([]byte, 0, r.ContentLength), head...)[:r.ContentLength]
	if _, err = io.ReadFull(r.Body, body[len(head):]); err == nil {
		review = &admissionv1.AdmissionReview{}
		err = json.Unmarshal(body, review)
	}
	if err == nil && review.Request == nil {
		err = errors.New("a review without a request")
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return review, leave, nil
}

// roomFor returns the slots for reviews of a size.
func (h *handler) roomFor(size int64) *fair.Semaphore {
	i := 0
	for size > classes[i].size {
		i++
	}
	return h.rooms[i]
}

// namespaceIn returns the namespace of the request, by the head of a review; empty for none.
func namespaceIn(head []byte) (namespace string) {
	inRequest := func(name []byte, at int) (int, error) {
		if string(name) != "namespace" {
			return rawjson.Skip(head, at)
		}
		value, _, err := rawjson.String(head, at)
		namespace = string(value)
		return at, errors.Join(err, errFound)
	}
	// An error says that the namespace is found, or that the head ends.
	_, _ = rawjson.Walk(head, rawjson.Space(head, 0), func(name []byte, at int) (int, error) {
		if string(name) != "request" {
			return rawjson.Skip(head, at)
		}
		return rawjson.Walk(head, at, inRequest)
	})
	return namespace
}

// errFound ends a walk.
var errFound = errors.New("found")

// ask returns the decision on a request, if there is one in time. The slot is given back when the decision has ended,
// which may be later: until then the request is in memory.
func (h *handler) ask(ctx context.Context, r *admissionv1.AdmissionRequest, leave func()) Decision {
	decided := make(chan Decision, 1)
	go func() {
		defer leave()
		defer func() {
			if problem := recover(); problem != nil {
				h.log.Errorf("guard: deciding on %s %s/%s failed, and the request passes: %s", r.Resource.Resource,
					r.Namespace, r.Name, describePanic(problem))
				decided <- Decision{}
			}
		}()
		decided <- h.decide(ctx, r)
	}()
	select {
	case decision := <-decided:
		return decision
	case <-ctx.Done():
		return Decision{}
	}
}

// describePanic says of what kind a panic was: its text may quote an object.
func describePanic(problem any) string { return fmt.Sprintf("%T", problem) }

// response returns the answer to a request. A dry run is not refused: nothing would happen.
func response(r *admissionv1.AdmissionRequest, d Decision) *admissionv1.AdmissionResponse {
	answer := &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	dryRun := r.DryRun != nil && *r.DryRun
	switch {
	case d.Denied && !dryRun:
		answer.Allowed = false
		answer.Result = &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: d.Message}
	case d.Message != "":
		answer.Warnings = lines(d.Message)
	}
	return answer
}

// lines splits a text into parts that are each shown whole, between words where it can.
func lines(text string) (parts []string) {
	for len(text) > maxWarning {
		end := maxWarning
		for end > 0 && text[end] != ' ' {
			end--
		}
		if end == 0 {
			for end = maxWarning; !utf8.RuneStart(text[end]); {
				end--
			}
		}
		parts, text = append(parts, text[:end]), text[end:]
		if text[0] == ' ' {
			text = text[1:]
		}
	}
	return append(parts, text)
}
