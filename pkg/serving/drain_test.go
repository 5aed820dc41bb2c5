package serving

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// TestAStoppedServerAnswersOnEachConnectionOnceMore: a client that keeps its connection sends a request after the
// server was stopped. It is answered, and the client closes the connection: the server closes none with a request.
func TestAStoppedServerAnswersOnEachConnectionOnceMore(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		bounds := limits(func(l *Limits) { l.Drain = patience })
		done <- Run(ctx, listener, http.HandlerFunc(ok), bounds, fixture.Quiet())
	}()
	var dialed int
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed++
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	last := func() bool {
		t.Helper()
		response, err := client.Get("http://" + listener.Addr().String())
		check.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		check.NoError(t, err)
		check.NoError(t, response.Body.Close())
		return response.Close
	}
	check.That(t, !last(), "the client has to close a connection of a running server")
	stop()
	check.That(t, last() && dialed == 1, "the connection stays open after the last answer, or there were others: %d",
		dialed)
	check.NoError(t, listener.Close())
	check.Report(t, ignoreClosed(<-done))
}

// ignoreClosed leaves out the error about a listener that the test has closed, to end the drain.
func ignoreClosed(err error) error {
	if err != nil && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
