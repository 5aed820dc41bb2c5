package enforce

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Secrets is a client for marks, by protobuf, which can hold the body of a request back.
type Secrets struct{ typedcorev1.SecretsGetter }

// NewSecrets returns a client for requests as config has them.
func NewSecrets(config *rest.Config) (*Secrets, error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("transport for marks: %w", err)
	}
	client, err := typedcorev1.NewForConfigAndClient(config, &http.Client{Transport: impatient{holding(transport)}, Timeout: config.Timeout})
	if err != nil {
		return nil, fmt.Errorf("client for marks: %w", err)
	}
	return &Secrets{client}, nil
}

// impatient takes out of answers when to try again: client-go would wait for that, and whoever waits for a mark rather lists.
type impatient struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Header.Del("Retry-After")
	return response, nil
}

// aheadPatience is for how long the body of a mark is kept back that nobody has asked for yet. After that time the next check is a
// list again.
const aheadPatience = cachePatience

// markRequest is the write of one mark. Its body is kept back until the mark is asked for: so the request can begin ahead of that, and
// what the API server does with it before it reads the body is done when the mark is wanted. A mark that nobody asks for is written
// all the same after aheadPatience, because a request that is broken off is an error to the API server.
type markRequest struct {
	seen     <-chan struct{} // closed when the watch has delivered the mark
	answered chan struct{}   // closed when the API server has answered
	refused  chan error      // has the error, if that is the answer

	asked chan struct{} // closed when the mark is asked for
	loose atomic.Bool   // the body goes out: the mark was asked for, or nobody did for too long
}

// begin begins to write a mark, all but the body of the request.
func (m *marker) begin() *markRequest {
	mark, seen := m.view.Mark()
	r := &markRequest{seen: seen, answered: make(chan struct{}), refused: make(chan error, 1), asked: make(chan struct{})}
	m.work.Go(func(ctx context.Context) {
		defer close(r.answered)
		ctx, cancel := context.WithTimeout(held(ctx, r), aheadPatience+markPatience)
		defer cancel()
		if err := m.write(ctx, mark); err != nil {
			r.refused <- err
		}
	})
	return r
}

// ask lets the body go, and says whether it had been kept back until now: what is written is later than the call then.
func (r *markRequest) ask() bool {
	if !r.loose.CompareAndSwap(false, true) {
		return false
	}
	close(r.asked)
	return true
}

// wait is called for each body of the request, of which there may be more than one: the Secret may be missing, or the connection closed.
func (r *markRequest) wait(ctx context.Context) error {
	if r.loose.Load() {
		return nil
	}
	patience := time.NewTimer(aheadPatience)
	defer patience.Stop()
	select {
	case <-r.asked:
	case <-patience.C:
		r.loose.Store(true)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// gone is nil: a mark that is written once more is only later.
func (r *markRequest) gone() error { return nil }

// takeAhead returns the request that was begun ahead; nil if there is none.
func (m *marker) takeAhead() *markRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.ahead
	m.ahead = nil
	return r
}

// idle is called when nothing is under way any more. If marks were of use in quick succession, the next one begins ahead: now that is
// in nobody's way.
func (m *marker) idle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.expected && m.marks.current == nil && m.busy() == 0 {
		m.expected = false
		m.ahead = m.begin()
	}
}
