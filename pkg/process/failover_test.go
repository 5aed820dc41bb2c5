package process

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// impatient is for attempts that are not answered; patient for those that are.
const (
	impatient = 20 * time.Millisecond
	patient   = time.Minute
)

// wire is a transport that a test plays the other end of.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func (w wire) CloseIdleConnections() {}

func quiet() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// over returns a failover whose transports are wires, in that order.
func over(timeout time.Duration, wires ...wire) (f *failover, made *int) {
	made = new(int)
	return &failover{timeout: timeout, silence: patient, log: quiet(), connect: func() (http.RoundTripper, error) {
		*made++
		if *made > len(wires) {
			return nil, errors.New("no more connections")
		}
		return &wires[*made-1], nil
	}}, made
}

// hangs never answers.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// echoes answers with the body of the request.
func echoes(r *http.Request) (*http.Response, error) {
	text := []byte(nil)
	if r.Body != nil {
		var err error
		if text, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(text)))}, nil
}

// fails reads part of the body, as a connection may break at any time.
func fails(err error) wire {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			if _, err := r.Body.Read(make([]byte, 1)); err != nil {
				return nil, err
			}
		}
		return nil, err
	}
}

func request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "https://localhost"+path, content)
	check.NoError(t, err)
	return r
}

// do sends a request and returns the text of its answer.
func do(t http.RoundTripper, r *http.Request) (string, error) {
	response, err := t.RoundTrip(r)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return string(text), errors.Join(err, response.Body.Close())
}

var (
	reads   = []string{http.MethodGet, http.MethodHead}
	updates = []string{http.MethodPatch, http.MethodPut}
	creates = []string{http.MethodPost, http.MethodDelete}
)

func TestARequestWithoutAnAnswerIsSentAgainOverAnotherConnection(t *testing.T) {
	for _, method := range reads {
		f, made := over(impatient, hangs, hangs, echoes) //nolint:gocritic // two connections that hang alike
		if got, err := do(f, request(t, method, "/api", "body")); got != "body" || err != nil || *made != 3 {
			t.Errorf("%s: answered with %q after %d connections: %v", method, got, *made, err)
		}
	}
	for _, method := range updates {
		f, made := over(impatient, hangs, echoes)
		if got, err := do(f, request(t, method, "/api", "body")); got != "body" || err != nil || *made != 2 {
			t.Errorf("%s: answered with %q after %d connections: %v", method, got, *made, err)
		}
	}
	f, made := over(impatient, hangs, hangs, hangs, echoes) //nolint:gocritic // three connections that hang alike
	if _, err := do(f, request(t, http.MethodGet, "/api", "")); !errors.Is(err, os.ErrDeadlineExceeded) ||
		*made != attempts {
		t.Errorf("after %d attempts: %v", *made, err)
	}
}

// An API server that waits for slow webhooks answers at last; to give up before would be to fail for ever.
func TestTheLastAttemptIsPatient(t *testing.T) {
	slow := func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(5 * impatient):
			return echoes(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	for _, method := range slices.Concat(updates, creates) {
		f, _ := over(impatient, slow, slow) //nolint:gocritic // a second attempt is as slow
		if got, err := do(f, request(t, method, "/api", "body")); got != "body" || err != nil {
			t.Errorf("%s: answered with %q: %v", method, got, err)
		}
	}
}

func TestACreationOrDeletionIsSentOnce(t *testing.T) {
	for _, method := range creates {
		f, made := over(impatient, hangs, echoes)
		if _, err := do(f, request(t, method, "/api", "body")); !errors.Is(err, os.ErrDeadlineExceeded) || *made != 1 {
			t.Errorf("%s: %d connections, %v", method, *made, err)
		}
		if got, err := do(f, request(t, method, "/api", "next")); got != "next" || err != nil || *made != 2 {
			t.Errorf("%s: the next one got %q over connection %d: %v", method, got, *made, err)
		}
		for _, path := range []string{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			"/api/v1/configmaps?dryRun=All"} {
			f, _ := over(impatient, hangs, echoes)
			if got, err := do(f, request(t, method, path, "body")); got != "body" || err != nil {
				t.Errorf("%s %s, which writes nothing, got %q: %v", method, path, got, err)
			}
		}
	}
}

func TestABrokenConnectionIsNoAnswer(t *testing.T) {
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET,
		errors.New("http2: client connection lost")} {
		for _, method := range append(reads, updates...) {
			sent := 0
			f, _ := over(patient, func(r *http.Request) (*http.Response, error) {
				if sent++; sent == 1 {
					return fails(broken)(r)
				}
				return echoes(r)
			})
			if got, err := do(f, request(t, method, "/api", "body")); got != "body" || err != nil || sent != 2 {
				t.Errorf("%s after %v: answered with %q: %v", method, broken, got, err)
			}
		}
		for _, method := range creates {
			f, _ := over(patient, fails(broken))
			if _, err := do(f, request(t, method, "/api", "body")); !errors.Is(err, broken) {
				t.Errorf("%s: %v in place of %v", method, err, broken)
			}
		}
	}
	sent := 0
	f, _ := over(patient, func(*http.Request) (*http.Response, error) {
		sent++
		return nil, syscall.ECONNREFUSED
	})
	if _, err := do(f, request(t, http.MethodGet, "/api", "")); !errors.Is(err, syscall.ECONNREFUSED) || sent != 1 {
		t.Errorf("sent %d times to an API server that is not there: %v", sent, err)
	}
}

// The lease has a deadline of its own.
func TestARequestWhoseTimeIsOverLeavesTheConnection(t *testing.T) {
	f, made := over(patient, hangs, echoes)
	ctx, cancel := context.WithTimeout(t.Context(), impatient)
	defer cancel()
	if _, err := do(f, request(t, http.MethodPut, "/lease", "body").WithContext(ctx)); !errors.Is(err,
		context.DeadlineExceeded) || *made != 1 {
		t.Errorf("over %d connections: %v", *made, err)
	}
	if got, err := do(f, request(t, http.MethodPut, "/lease", "body")); got != "body" || err != nil || *made != 2 {
		t.Errorf("the next one got %q over connection %d: %v", got, *made, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	f, made = over(patient, func(r *http.Request) (*http.Response, error) {
		cancel()
		return hangs(r)
	}, echoes)
	if _, err := do(f, request(t, http.MethodGet, "/api", "").WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := f.transport(); err != nil || *made != 1 {
		t.Errorf("a request that nobody wants any more is no reason for connection %d: %v", *made, err)
	}
}

// Many requests hang at once, and one new connection serves them all.
func TestRequestsThatHangTogetherShareTheNextConnection(t *testing.T) {
	f, made := over(impatient, hangs, echoes)
	var all sync.WaitGroup
	for range 20 {
		r := request(t, http.MethodGet, "/api", "")
		all.Go(func() {
			if _, err := do(f, r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if *made != 2 {
		t.Errorf("%d connections", *made)
	}
}
