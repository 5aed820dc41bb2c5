package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

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
			w := post(t, NewHandler(at("/x"), always(test.decision), nil, fixture.Quiet()), "/x", string(body))
			var review admissionv1.AdmissionReview
			check.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
			r := review.Response
			check.Must(t,
				r != nil && r.UID == "42" && r.Allowed == test.allowed && strings.Join(r.Warnings, "|") == test.warnings, "%+v", r)
			if test.message != "" && (r.Result.Message != test.message || r.Result.Code != http.StatusForbidden) {
				t.Errorf("%+v", r.Result)
			}
		})
	}
}

// A request without a review of the API server is no oracle, and no way to exhaust the operator.
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
		h := NewHandler(at(test.served), denies, nil, fixture.Quiet())
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader([]byte(test.body)))
		r.URL.Path = test.path
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != test.want {
			t.Errorf("%s: %d, want %d", name, w.Code, test.want)
		}
	}
}

// reviewOf is the review that an API server sends about an object of a namespace, of a size at least.
func reviewOf(t *testing.T, namespace string, size int64) string {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "1",
		Namespace: namespace, Name: "shop", Object: runtime.RawExtension{Raw: []byte(`{"namespace":"of the object"}`)}}})
	check.NoError(t, err)
	return string(body) + strings.Repeat(" ", max(0, int(size)-len(body)))
}

// smallest returns the size of the smallest review of a class.
func smallest(class int) int64 {
	if class == 0 {
		return 0
	}
	return classes[class-1].size + 1
}

// I12: a namespace with as many reviews under way as it may have takes no slot from others, of whatever size theirs
// are. Those of its own that find too many waiting pass at once.
func TestReviewsHaveSharesOfNamespaces(t *testing.T) {
	for i, class := range classes {
		synctest.Test(t, func(t *testing.T) {
			finish := make(chan struct{})
			h := newHandler(at("/x"), func(_ context.Context, r *admissionv1.AdmissionRequest) Decision {
				if r.Namespace == "hostile" {
					<-finish
				}
				return Decision{Denied: true}
			}, fixture.Quiet())
			h.wait = time.Hour
			ask := func(namespace string, class int) string {
				return post(t, h, "/x", reviewOf(t, namespace, smallest(class))).Body.String()
			}
			var flood sync.WaitGroup
			for range class.limits.Most {
				flood.Go(func() {
					answer := ask("hostile", i)
					check.That(t, strings.Contains(answer, `"allowed":false`), "one that waited is answered with %s", answer)
				})
				synctest.Wait()
			}
			answer := ask("hostile", i)
			check.That(t, strings.Contains(answer, "no review"), "one more of the namespace is answered with %s", answer)
			for other := range classes {
				if other == i && class.limits.Each == class.limits.All {
					continue // takes its turn
				}
				answer := ask("quick", other)
				check.That(t, strings.Contains(answer, `"allowed":false`), "another namespace, in class %d, is answered with %s",
					other, answer)
			}
			close(finish)
			flood.Wait()
		})
	}
}

// A review is in memory until its decision has ended, also when the answer was given before: until then its slot is
// taken.
func TestASlotIsHeldUntilTheDecisionHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		h := newHandler(at("/x"), func(context.Context, *admissionv1.AdmissionRequest) Decision {
			<-finish
			return Decision{}
		}, fixture.Quiet())
		largest := len(classes) - 1
		post(t, h, "/x", reviewOf(t, "slow", smallest(largest))) // is answered when the time is over
		go func() {
			if leave, err := h.rooms[largest].Acquire(t.Context(), "slow"); err == nil {
				leave()
			}
		}()
		synctest.Wait()
		check.Equal(t, h.rooms[largest].Waiting(), 1, "there is a slot while the decision goes on")
		close(finish)
		synctest.Wait()
		check.Equal(t, h.rooms[largest].Waiting(), 0, "there is no slot when the decision has ended")
	})
}

func TestTheNamespaceIsInTheHead(t *testing.T) {
	for body, want := range map[string]string{
		reviewOf(t, "apps", 0): "apps", reviewOf(t, "", 0): "", reviewOf(t, "apps", 0)[:140]: "",
		`{"request":{"object":{"namespace":"other"},"namespace":"apps"}}`: "apps",
		`{"namespace":"other","request":{}}`:                              "",
		`{"request":{"namespace":1}}`:                                     "",
		`{"request":"namespace"}`:                                         "",
		`[]`:                                                              "",
		``:                                                                "",
		`{"request":{"namespace"`:                                         "",
		`{"request" : {"namespace" : "apps"`:                              "apps",
	} {
		check.Equal(t, namespaceIn([]byte(body)), want, "%v", body)
	}
}

// The API server gets an answer that lets the request pass, also after a panic of the decision.
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
		check.That(t, strings.Contains(w.Body.String(), `"allowed":true`), "%s: %s", name, w.Body)
		check.That(t, !strings.Contains(log.String(), "correct-horse"), "%s: the log quotes what was decided on", name)
	}
}

func TestLines(t *testing.T) {
	for _, text := range []string{"short", strings.Repeat("word ", 100), strings.Repeat("ä", 200), ""} {
		var all []string
		for _, part := range lines(text) {
			check.That(t, len(part) <= maxWarning, "%d bytes", len(part))
			all = append(all, part)
		}
		check.Equal(t, strings.ReplaceAll(strings.Join(all, ""), " ", ""), strings.ReplaceAll(text, " ", ""), "%q became %q",
			text, all)
	}
}
