package dial

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// closeAfter closes after the test what is not closed by then.
func closeAfter(t *testing.T, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// pair returns the two ends of a connection; near is the one that is read from as watches are.
func pair(t *testing.T, silence time.Duration) (near *conn, far *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, listener)
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, c)
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, accepted)
	return &conn{Conn: c, reader: readerOf(c), silence: silence}, accepted.(*net.TCPConn)
}

func TestConnReadsWhatComes(t *testing.T) {
	near, far := pair(t, time.Minute)
	if n, err := near.Read(nil); n != 0 || err != nil {
		t.Errorf("nothing was asked for and came: %d, %v", n, err)
	}
	sent := strings.Repeat("0123456789", 1<<16)
	go func() {
		_, err := io.WriteString(far, sent)
		if err := errors.Join(err, far.CloseWrite()); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(near)
	if err != nil || string(got) != sent {
		t.Errorf("%d of %d bytes came, or not as they were sent: %v", len(got), len(sent), err)
	}
	if n, err := near.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func TestConnTellsWhatWentWrong(t *testing.T) {
	read := func(c net.Conn) <-chan error {
		failed := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 10))
			failed <- err
		}()
		return failed
	}
	t.Run("closed on this side", func(t *testing.T) {
		near, _ := pair(t, time.Minute)
		failed := read(near)
		if err := near.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	t.Run("reset by the other side", func(t *testing.T) {
		near, far := pair(t, time.Minute)
		failed := read(near)
		if err := errors.Join(far.SetLinger(0), far.Close()); err != nil {
			t.Fatal(err)
		}
		var where *net.OpError
		if err := <-failed; !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &where) || where.Addr.String() != near.RemoteAddr().String() {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing comes", func(t *testing.T) {
		near, far := pair(t, time.Millisecond)
		if _, err := far.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		var timeout net.Error
		_, err := io.Copy(io.Discard, near)
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%v", err)
		}
	})
}

// serve runs a server of both versions of HTTP until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// tellProto answers a request with the version of HTTP that it came by.
func tellProto(t *testing.T, w io.Writer, r *http.Request) {
	t.Helper()
	if _, err := io.WriteString(w, r.Proto); err != nil {
		t.Error(err)
	}
}

// configOf returns a configuration for an API server.
func configOf(s *httptest.Server) *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

// get returns the whole answer to a request.
func get(t *testing.T, config *rest.Config, url string) (text string, err error) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	return string(body), errors.Join(err, response.Body.Close())
}

func TestForWatches(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		tellProto(t, w, r)
	})
	config := configOf(server)
	var dialed atomic.Int32
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	for want, config := range map[string]*rest.Config{"HTTP/2.0": config, "HTTP/1.1": ForWatches(config)} {
		dialed.Store(0)
		got, err := get(t, config, server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got != want || dialed.Load() != 1 {
			t.Errorf("%s in place of %s, and the dialer of the configuration was called %d times", got, want, dialed.Load())
		}
	}

	t.Run("the dialer of its own", func(t *testing.T) {
		if _, err := get(t, ForWatches(configOf(server)), server.URL); err != nil {
			t.Error(err)
		}
	})
	t.Run("an API server that is gone and a load balancer that does not tell", func(t *testing.T) {
		_, err := get(t, forWatches(configOf(server), 100*time.Millisecond), server.URL+"/silent")
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%v", err)
		}
	})
	t.Run("no API server", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = get(t, ForWatches(&rest.Config{}), "http://"+listener.Addr().String())
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v", err)
		}
	})
}
