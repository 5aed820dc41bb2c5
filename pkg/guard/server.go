package guard

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// timeoutSeconds is how long the API server waits for an answer, and decisionTimeout how long a decision may take.
	timeoutSeconds  = 2
	decisionTimeout = 1500 * time.Millisecond
	// maxReview bounds a request: two objects of the size that etcd takes, and what is around them. maxReviews bounds
	// all requests of up to smallReview that are read or decided on at a time, and as much again all larger ones:
	// decoded, they take ten times as much memory. Who changes large objects all the time costs only those.
	maxReview   = 4 << 20
	maxReviews  = 4 << 20
	smallReview = 128 << 10
	// maxWarning is how long a warning may be that kubectl shows whole.
	maxWarning = 256
)

// handler answers the AdmissionReviews that come to a path. Every answer but one of 200 lets the request pass, as the
// registration says so.
type handler struct {
	// path returns the path that the API server was told; empty while it was told none.
	path   func() string
	decide Decide
	// small and large have room for reviews.
	small, large *semaphore.Weighted

	log  logrus.FieldLogger
	wait time.Duration
}

// NewHandler returns what answers the API server at a path, which may change; empty for none yet.
func NewHandler(path func() string, decide Decide, log logrus.FieldLogger) http.Handler {
	return newHandler(path, decide, log)
}

func newHandler(path func() string, decide Decide, log logrus.FieldLogger) *handler {
	return &handler{path: path, decide: decide, small: semaphore.NewWeighted(maxReviews),
		large: semaphore.NewWeighted(maxReviews), log: log, wait: decisionTimeout}
}

// ServeHTTP answers one request. The path cannot be guessed: who could ask whatever they like would learn from the
// answers what objects hold.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := h.path()
	if path == "" || subtle.ConstantTimeCompare([]byte(r.URL.Path), []byte(path)) != 1 {
		http.NotFound(w, r)
		return
	}
	size := r.ContentLength
	if size < 0 || size > maxReview {
		http.Error(w, "the review is too large", http.StatusRequestEntityTooLarge)
		return
	}
	room := h.small
	if size > smallReview {
		room = h.large
	}
	if !room.TryAcquire(size) {
		http.Error(w, "too many reviews at a time", http.StatusServiceUnavailable)
		return
	}
	defer room.Release(size)
	var review admissionv1.AdmissionReview
	body := make([]byte, size)
	if _, err := io.ReadFull(r.Body, body); err != nil || json.Unmarshal(body, &review) != nil ||
		review.Request == nil {
		http.Error(w, "not an AdmissionReview with a request", http.StatusBadRequest)
		return
	}
	decision := h.ask(r.Context(), review.Request)
	review.Response, review.Request = response(review.Request, decision), nil
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		h.log.Debugf("guard: answer the API server: %v", err)
	}
}

// ask returns the decision on a request, if there is one in time.
func (h *handler) ask(ctx context.Context, r *admissionv1.AdmissionRequest) Decision {
	ctx, cancel := context.WithTimeout(ctx, h.wait)
	defer cancel()
	decided := make(chan Decision, 1)
	go func() {
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
