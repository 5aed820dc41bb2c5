package follow

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/message"
)

// Options select the operators.
type Options struct {
	// Config is for the API server. The operators get its bearer token, too.
	Config *rest.Config
	// Namespace and Controller are those of the operators.
	Namespace, Controller string
	// Shard selects one operator of the controller name; nil selects all.
	Shard labels.Selector
	// Resume has the last position in the stream of each Lease, by its name. Without an entry the reader begins with
	// the oldest event in memory.
	Resume map[string]message.Position
	// Handle gets each event with its position in the stream of a Lease, and nil at the end of a leader. It must not
	// wait. The streams of several Leases call it at the same time.
	Handle func(lease string, at message.Position, m *message.Message)
	// Connected gets the position at which an operator begins to answer, and Alive each sign of life of it. They must
	// not wait either; nil leaves them out.
	Connected func(lease string, from message.Position)
	Alive     func(lease string)
	Clock     clock.WithTicker
	Log       logrus.FieldLogger
}

// Follower reads the streams of operators.
type Follower struct {
	Options
	listed chan struct{}

	mu      sync.Mutex         // guards the rest
	readers map[string]*reader // by the name of the Lease
}

// Back-off between attempts to reach an operator.
const firstRetry, lastRetry = 250 * time.Millisecond, 10 * time.Second

const (
	// silence bounds the silence of a stream: an operator gives a sign of life every 5 seconds.
	silence = 15 * time.Second
	// connectTime bounds an attempt to reach an operator, and answerTime its answer.
	connectTime, answerTime = 5 * time.Second, 10 * time.Second
	// longest is the length of the longest line.
	longest = 4 << 20
)

// announcement is the way to the events of the leader of a Lease.
type announcement struct{ address, certificate string }

// reader reads the streams of the leaders of one Lease, one after another.
type reader struct {
	*Follower
	name  string
	at    message.Position
	where atomic.Pointer[announcement]
	moved chan struct{} // holds one token when the announcement is another one
	log   logrus.FieldLogger
}

// reader returns a reader for the leaders of a Lease, of which the first made an announcement.
func (f *Follower) reader(name string, first announcement) *reader {
	r := &reader{Follower: f, name: name, at: f.Resume[name], moved: make(chan struct{}, 1),
		log: f.Log.WithField("lease", name)}
	r.where.Store(&first) // run loads it
	return r
}

// move wakes the reader for a new announcement.
func (r *reader) move(to announcement) {
	if now := r.where.Load(); now != nil && *now == to {
		return
	}
	r.where.Store(&to)
	select {
	case r.moved <- struct{}{}:
	default:
	}
}

func (r *reader) run(ctx context.Context) {
	pause, last := firstRetry, ""
	for ctx.Err() == nil {
		before := r.at
		err := r.read(ctx, *r.where.Load())
		if ctx.Err() != nil {
			return
		}
		switch {
		case r.at != before:
			pause, last = firstRetry, ""
		case err != nil && err.Error() != last:
			last = err.Error()
			r.log.Warnf("events: %v", err)
		}
		timer := r.Clock.NewTimer(pause)
		pause = min(2*pause, lastRetry)
		select {
		case <-timer.C():
		case <-r.moved:
			pause = firstRetry
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// read reads the stream of a leader until it ends. The error is nil after the last event of a leader.
func (r *reader) read(ctx context.Context, from announcement) error {
	client, err := r.client(from)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u := url.URL{Scheme: "https", Host: from.address, Path: lease.EventsPath}
	if r.at != (message.Position{}) {
		u.RawQuery = url.Values{"after": {r.at.String()}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("address of the leader: %w", err)
	}
	token, err := r.token()
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("reach the leader: %w", err)
	}
	silent := time.AfterFunc(silence, func() { cancel(errors.New("the leader has nothing to say")) })
	defer silent.Stop()
	err = r.lines(response, func() { silent.Reset(silence) })
	if closed := response.Body.Close(); err == nil && closed != nil {
		r.log.Debugf("close a stream: %v", closed)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// lines handles the events of an answer.
func (r *reader) lines(response *http.Response, alive func()) error {
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, 1024))
		return errors.Join(fmt.Errorf("the leader answers %s: %s", response.Status, bytes.TrimSpace(text)), err)
	}
	from, err := message.ParsePosition(response.Header.Get(lease.EventsPosition))
	if err != nil {
		return fmt.Errorf("read the events: %w", err)
	}
	if r.Connected != nil {
		r.Connected(r.name, from)
	}
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(nil, longest)
	for scanner.Scan() {
		alive()
		if r.Alive != nil {
			r.Alive(r.name)
		}
		if len(scanner.Bytes()) == 0 {
			continue
		}
		var e message.Event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
		at, err := message.ParsePosition(e.ID)
		if err != nil {
			return fmt.Errorf("read the events: %w", err)
		}
		r.at, from = at, at
		r.Handle(r.name, at, e.Message)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the events: %w", err)
	}
	from.End = true
	r.at = from
	r.Handle(r.name, r.at, nil)
	return nil
}

// client returns a client with one trusted certificate, the leader's.
func (r *reader) client(from announcement) (*http.Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(from.certificate)) {
		return nil, errors.New("the Lease has no certificate of the leader")
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: lease.EventsHost},
		TLSHandshakeTimeout: connectTime, ResponseHeaderTimeout: answerTime, DisableKeepAlives: true,
		// No proxy: the token is for the operator.
	}
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// token returns the bearer token for operators; a file is read again each time, because tokens in files are rotated.
func (r *reader) token() (string, error) {
	if r.Config.BearerTokenFile == "" {
		if r.Config.BearerToken == "" {
			return "", errors.New("the client configuration has no bearer token, by which operators know a reader")
		}
		return r.Config.BearerToken, nil
	}
	content, err := os.ReadFile(r.Config.BearerTokenFile)
	if err != nil {
		return "", fmt.Errorf("token for the operators: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}
