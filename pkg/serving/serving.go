// Package serving runs HTTP servers that no client can exhaust by holding connections: every phase of a request has a
// time limit, and the number of connections is bounded; idle ones make room for new ones.
package serving

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/plain"
)

// Limits bound the resources of clients. A handler that streams sets its own deadlines with http.ResponseController.
type Limits struct {
	// Connections is how many may be open.
	Connections int
	// Read is how long a client may take to send a request, its header included, Write how long it may take to read
	// the answer, and Idle how long a connection may stay between requests.
	Read, Write, Idle time.Duration
	// HeaderBytes bounds the header of a request.
	HeaderBytes int
	// Drain is for how long a stopped server goes on answering, on each connection once more. A request that a client
	// sends while the server closes the connection fails.
	Drain time.Duration
	// Stop bounds the requests in progress after that.
	Stop time.Duration
}

// Standard returns the limits for answers that are not streamed.
func Standard() Limits {
	return Limits{Connections: 64, Read: 5 * time.Second, Write: 30 * time.Second, Idle: time.Minute,
		HeaderBytes: 16 << 10, Stop: 2 * time.Second}
}

// Run serves a handler on a listener, within limits, until ctx ends, which also ends the contexts of requests. The
// error is the listener's; nil when ctx has ended.
func Run(
	ctx context.Context, listener net.Listener, handler http.Handler, limits Limits, log logrus.FieldLogger,
) error {
	room := newRoom(limits.Connections)
	server := &http.Server{
		Handler: room.serving(closing(ctx, handler)), ConnState: room.changed,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withConnection,
		ReadHeaderTimeout: limits.Read, ReadTimeout: limits.Read, WriteTimeout: limits.Write, IdleTimeout: limits.Idle,
		MaxHeaderBytes: limits.HeaderBytes, ErrorLog: stdlog.New(complaints{log}, "", 0),
	}
	var stopping sync.WaitGroup
	ended := make(chan struct{})
	stopping.Go(func() {
		select {
		case <-ctx.Done():
			drain(limits.Drain, ended)
		case <-ended:
		}
		// Requests end on their own, as ctx is theirs, too; the others are cut off.
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.Stop)
		defer cancel()
		if server.Shutdown(wait) != nil {
			if err := server.Close(); err != nil {
				log.Debugf("close %s: %v", listener.Addr(), err)
			}
		}
	})
	err := server.Serve(listener)
	close(ended)
	stopping.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

// closing has a client close its connection after an answer, once ctx has ended.
func closing(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// drain waits for a time, or until the server has ended.
func drain(wait time.Duration, ended <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ended:
	}
}

// complaints are a server's log messages about its clients, such as one that does not trust its certificate. Any
// client can cause them, as often as it likes.
type complaints struct{ log logrus.FieldLogger }

func (c complaints) Write(text []byte) (int, error) {
	c.log.Debug(plain.Line(string(text)))
	return len(text), nil
}
