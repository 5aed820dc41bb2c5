package guard

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
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
	// decisionTimeout is how long a decision may take, the wait for its turn included: less than timeoutSeconds.
	decisionTimeout = 1500 * time.Millisecond
	// maxReview bounds a request. It has the object twice, before and after the change. etcd limits each to 1.5 MiB,
	// and JSON is up to ten times as large: a "<" takes six bytes there, a field's name more than its number.
	maxReview = 32 << 20
	// headBytes bounds the part of a review with its namespace: API servers write the objects after that.
	headBytes = 4 << 10
	// maxWarning is the length of the longest warning that kubectl shows whole.
	maxWarning = 256
)

// classes divide reviews by their size. Each class has slots of its own, and namespaces take turns at them. Decoded, a
// review takes about ten times as much memory. A user with a flood of changes, or with large objects, cannot take the
// guard from other namespaces: requests beyond the queue of their namespace pass.
var classes = []struct {
	size   int64 // of the largest one
	limits fair.Limits
}{
	{128 << 10, fair.Limits{All: 32, Each: 12, Most: 268}},
	{2 << 20, fair.Limits{All: 3, Each: 1, Most: 33}},
	{maxReview, fair.Limits{All: 1, Each: 1, Most: 9}},
}

// handler answers the AdmissionReviews at a path. With any status other than 200 the request passes: the registration
// sets failurePolicy Ignore.
type handler struct {
	// path returns the path in the registration; empty while there is none.
	path func() string
	// decide answers requests for objects, and witness those for release records.
	decide, witness Decide
	// rooms holds the slots for each of classes.
	rooms []*fair.Semaphore

	log  logrus.FieldLogger
	wait time.Duration
}

// NewHandler returns the handler for the API server's requests. Its path may change, and is empty until it is known.
func NewHandler(path func() string, decide, witness Decide, log logrus.FieldLogger) http.Handler {
	h := newHandler(path, decide, log)
	h.witness = witness
	return h
}

func newHandler(path func() string, decide Decide, log logrus.FieldLogger) *handler {
	h := &handler{path: path, decide: decide, log: log, wait: decisionTimeout}
	for _, class := range classes {
		h.rooms = append(h.rooms, fair.NewSemaphore(class.limits))
	}
	return h
}

// ServeHTTP answers one request. The path must stay secret: answers to arbitrary requests would reveal the content of
// objects.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	decide := h.at(r.URL.Path)
	if decide == nil {
		http.NotFound(w, r)
		return
	}
	if r.ContentLength < 0 || r.ContentLength > maxReview {
		http.Error(w, "the review is too large", http.StatusRequestEntityTooLarge)
		return
	}
	// An operator that stops finishes what it was asked before.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.wait)
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
	decision := h.ask(ctx, decide, review.Request, leave)
	review.Response, review.Request = response(review.Request, decision), nil
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		h.log.Debugf("guard: answer the API server: %v", err)
	}
}

// at returns the function that answers the requests at a path; nil for none.
func (h *handler) at(asked string) Decide {
	path := h.path()
	same := func(path string) bool { return subtle.ConstantTimeCompare([]byte(asked), []byte(path)) == 1 }
	switch {
	case path == "":
		return nil
	case same(path):
		return h.decide
	case same(path + recordsPath):
		return h.witness
	}
	return nil
}

// read reads a review once there is a slot for it. The caller releases the slot by leave. Before, only the head is in
// memory.
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
	// The error means that the namespace is found, or that the head ends.
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

// ask returns the decision on a request, or the zero value when ctx ends first. The slot is released at the end of the
// decision, even if that is later: until then the request is in memory.
func (h *handler) ask(
	ctx context.Context, decide Decide, r *admissionv1.AdmissionRequest, leave func(),
) Decision {
	decided := make(chan Decision, 1)
	go func() {
		defer leave()
		defer func() {
			if problem := recover(); problem != nil {
				// The type alone: the text of a panic may quote an object.
				h.log.Errorf("guard: deciding on %s %s/%s failed, and the request passes: %T", r.Resource.Resource,
					r.Namespace, r.Name, problem)
				decided <- Decision{}
			}
		}()
		decided <- decide(ctx, r)
	}()
	select {
	case decision := <-decided:
		return decision
	case <-ctx.Done():
		return Decision{}
	}
}

// response returns the answer to a request. It never denies a dry run, which changes nothing.
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

// lines splits a text into parts of at most maxWarning bytes, between words where possible.
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
