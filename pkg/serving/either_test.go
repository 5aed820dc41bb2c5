package serving

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestEitherServesBothOnOnePort sends requests to one port by https and by http, beside a silent client and a client
// with other bytes.
func TestEitherServesBothOnOnePort(t *testing.T) {
	model := httptest.NewTLSServer(http.NotFoundHandler())
	defer model.Close()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	check.NoError(t, err)
	address := listener.Addr().String()
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, Encrypted(r)) })
	go func() {
		config := &tls.Config{Certificates: model.TLS.Certificates, MinVersion: tls.VersionTLS13}
		done <- Run(ctx, Either(listener, config), handler, Standard(), log)
	}()
	for _, first := range []string{"", "\x00neither"} {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		check.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = io.WriteString(connection, first)
		check.NoError(t, err)
	}
	for scheme, want := range map[string]string{"http": "false", "https": "true"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address, nil)
		check.NoError(t, err)
		response, err := model.Client().Do(request)
		check.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		check.NoError(t, err)
		check.NoError(t, response.Body.Close())
		check.Equal(t, string(body), want, "by %s: encrypted is %s", scheme, body)
	}
	stop()
	check.NoError(t, <-done)
}
