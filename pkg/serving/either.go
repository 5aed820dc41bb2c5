package serving

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// Either returns a listener for TLS and plain HTTP on one port: a connection that begins with a TLS handshake gets TLS.
// So the port takes tokens over TLS, and a Prometheus still scrapes it by http.
func Either(listener net.Listener, config *tls.Config) net.Listener { return either{listener, config} }

type either struct {
	net.Listener
	config *tls.Config
}

// Accept does not wait for the first byte: the connection's own goroutine does, within its time limits.
func (e either) Accept() (net.Conn, error) {
	connection, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &chosen{Conn: connection, config: e.config}, nil
}

// handshake is the first byte of a TLS client: the type of a record (RFC 8446, section 5.1). No HTTP request begins
// with it.
const handshake = 0x16

// chosen is a connection of either kind, by its first byte. A server reads before it writes.
type chosen struct {
	net.Conn
	config *tls.Config
	first  sync.Once
	err    error
	in     net.Conn
	tls    bool
}

func (c *chosen) Read(p []byte) (int, error) {
	c.first.Do(c.choose)
	if c.err != nil {
		return 0, c.err
	}
	return c.in.Read(p)
}

func (c *chosen) Write(p []byte) (int, error) {
	if c.in == nil {
		return c.Conn.Write(p)
	}
	return c.in.Write(p)
}

func (c *chosen) choose() {
	begun := begun{c.Conn, bufio.NewReader(c.Conn)}
	first, err := begun.in.Peek(1)
	if c.err = err; err != nil {
		return
	}
	if c.in = begun; first[0] == handshake {
		c.in, c.tls = tls.Server(begun, c.config), true
	}
}

// begun is a connection whose first bytes are in a buffer.
type begun struct {
	net.Conn
	in *bufio.Reader
}

func (b begun) Read(into []byte) (int, error) { return b.in.Read(into) }

// Encrypted reports whether a request came over TLS.
func Encrypted(request *http.Request) bool {
	connection, ok := request.Context().Value(connectionKey{}).(*chosen)
	return request.TLS != nil || ok && connection.tls
}
