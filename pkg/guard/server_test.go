package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func quiet() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// post has a handler answer a review at a path.
func post(t *testing.T, h http.Handler, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	return w
}

func at(path string) func() string { return func() string { return path } }

func always(d Decision) Decide {
	return func(context.Context, *admissionv1.AdmissionRequest) Decision { return d }
}

func TestHandlerAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		decision Decision
		dryRun   bool
		allowed  bool
		message  string
		warnings string
	}{
		"nothing to say":       {Decision{}, false, true, "", ""},
		"denied":               {Decision{Denied: true, Message: "no"}, false, false, "no", ""},
		"warned":               {Decision{Message: "careful"}, false, true, "", "careful"},
		"a dry run is told":    {Decision{Denied: true, Message: "no"}, true, true, "", "no"},
		"a dry run is warned":  {Decision{Message: "careful"}, true, true, "", "careful"},
		"long words are split": {Decision{Message: strings.Repeat("w", 300)}, false, true, "", strings.Repeat("w", 256) + "|" + strings.Repeat("w", 44)},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "42",
				DryRun: ptr.To(test.dryRun)}})
			check.NoError(t, err)
			w := post(t, NewHandler(at("/x"), always(test.decision), quiet()), "/x", string(body))
			var review admissionv1.AdmissionReview
			check.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
			r := review.Response
			if r == nil || r.UID != "42" || r.Allowed != test.allowed ||
				strings.Join(r.Warnings, "|") != test.warnings {
				t.Fatalf("%+v", r)
			}
			if test.message != "" && (r.Result.Message != test.message || r.Result.Code != http.StatusForbidden) {
				t.Errorf("%+v", r.Result)
			}
		})
	}
}

// What is not a review that the API server sent is no oracle, and no way to exhaust the operator.
func TestHandlerTurnsAway(t *testing.T) {
	denies := always(Decision{Denied: true})
	review := `{"request":{"uid":"1"}}`
	for name, test := range map[string]struct {
		served, path, body string
		want               int
	}{
		"another path":        {"/secret", "/secre", review, http.StatusNotFound},
		"no path yet":         {"", "", review, http.StatusNotFound},
		"not a review":        {"/x", "/x", `{"request":`, http.StatusBadRequest},
		"without a request":   {"/x", "/x", `{}`, http.StatusBadRequest},
		"of the wrong types":  {"/x", "/x", `{"request":{"uid":{}}}`, http.StatusBadRequest},
		"too large":           {"/x", "/x", strings.Repeat(" ", maxReview+1), http.StatusRequestEntityTooLarge},
		"just small enough":   {"/x", "/x", strings.Repeat(" ", maxReview-len(review)) + review, http.StatusOK},
		"one that is in time": {"/x", "/x", review, http.StatusOK},
	} {
		h := NewHandler(at(test.served), denies, quiet())
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader([]byte(test.body)))
		r.URL.Path = test.path
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != test.want {
			t.Errorf("%s: %d, want %d", name, w.Code, test.want)
		}
	}
	h := newHandler(at("/x"), denies, quiet())
	large := strings.Repeat(" ", smallReview) + review
	for _, test := range []struct {
		name         string
		taken        *semaphore.Weighted
		small, large int
	}{
		{"large ones wait", h.large, http.StatusOK, http.StatusServiceUnavailable},
		{"small ones wait", h.small, http.StatusServiceUnavailable, http.StatusOK},
		{"none waits", semaphore.NewWeighted(maxReviews), http.StatusOK, http.StatusOK},
	} {
		if !test.taken.TryAcquire(maxReviews) {
			t.Fatal("the room is taken")
		}
		if small, large := post(t, h, "/x", review).Code, post(t, h, "/x", large).Code; small != test.small ||
			large != test.large {
			t.Errorf("%s: %d and %d, want %d and %d", test.name, small, large, test.small, test.large)
		}
		test.taken.Release(maxReviews)
	}
}

// Whatever the decision does, the API server has an answer that lets the request pass.
func TestHandlerFailsOpen(t *testing.T) {
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, decide := range map[string]Decide{
		"a panic": func(context.Context, *admissionv1.AdmissionRequest) Decision { panic("correct-horse") },
		"no answer in time": func(context.Context, *admissionv1.AdmissionRequest) Decision {
			<-hang
			return Decision{Denied: true}
		},
	} {
		h := newHandler(at("/x"), decide, logger)
		h.wait = 10 * time.Millisecond
		w := post(t, h, "/x", `{"request":{"uid":"1"}}`)
		if !strings.Contains(w.Body.String(), `"allowed":true`) {
			t.Errorf("%s: %s", name, w.Body)
		}
		if strings.Contains(log.String(), "correct-horse") {
			t.Errorf("%s: the log quotes what was decided on", name)
		}
	}
}

func TestLines(t *testing.T) {
	for _, text := range []string{"short", strings.Repeat("word ", 100), strings.Repeat("ä", 200), ""} {
		var all []string
		for _, part := range lines(text) {
			if len(part) > maxWarning {
				t.Errorf("%d bytes", len(part))
			}
			all = append(all, part)
		}
		if strings.ReplaceAll(strings.Join(all, ""), " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%q became %q", text, all)
		}
	}
}
