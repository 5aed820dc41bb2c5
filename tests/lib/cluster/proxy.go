package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	userHeader  = "X-Remote-User"
	groupHeader = "X-Remote-Group"
	// closeTimeout is how long Close waits for the requests in flight.
	closeTimeout = 5 * time.Second
)

// Proxy is a reverse proxy on loopback in front of the API server. A test observes or disturbs its clients. Clients
// keep their identity (certificate or token). The proxy speaks HTTP/1.1: each watch has its own connection and can be
// disturbed alone. Its methods may be called concurrently.
type Proxy struct {
	config  *rest.Config
	server  *http.Server
	reverse *httputil.ReverseProxy
	// withCertificate authenticates as the proxy and speaks for the client; plain passes the client's token.
	withCertificate, plain *http.Transport
	// inFlight counts the running handlers, and the accept loop.
	inFlight sync.WaitGroup

	// mu guards the fields below, and the contents of the streams.
	mu       sync.Mutex
	hooks    []*hook
	holds    map[*watchHold]struct{}
	streams  map[*stream]struct{}
	requests []*Request
	closed   bool
}

// StartProxy starts a proxy. It runs until its Close or the cluster's Stop.
func (c *Cluster) StartProxy() (*Proxy, error) { return c.StartProxyTo(c.address()) }

// StartProxyTo is StartProxy in front of an API server, or a Balancer, at an address.
func (c *Cluster) StartProxyTo(address string) (*Proxy, error) {
	p := &Proxy{holds: map[*watchHold]struct{}{}, streams: map[*stream]struct{}{}}
	roots := x509.NewCertPool()
	roots.AddCert(c.credentials.authority.cert)
	server, err := tls.X509KeyPair(c.credentials.server.cert, c.credentials.server.key)
	if err != nil {
		return nil, fmt.Errorf("load the proxy's server certificate: %w", err)
	}
	client, err := tls.X509KeyPair(c.credentials.proxy.cert, c.credentials.proxy.key)
	if err != nil {
		return nil, fmt.Errorf("load the proxy's client certificate: %w", err)
	}
	p.withCertificate = upstream(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{client},
		MinVersion: tls.VersionTLS12})
	p.plain = upstream(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})

	target := &url.URL{Scheme: "https", Host: address}
	silent := stdlog.New(io.Discard, "", 0)
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			identify(r)
		},
		Transport:      roundTripper(p.forward),
		FlushInterval:  -1, // a watch event is to be seen at once
		ModifyResponse: p.answered,
		// The client of an unreachable API server sees a broken connection, with the proxy as without.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     silent,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.serve),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12,
			ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots,
		},
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          silent,
	}
	p.config = c.RESTConfig()
	p.config.Host = "https://" + listener.Addr().String()

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, errors.Join(errors.New("the cluster was stopped"), listener.Close())
	}
	c.proxies = append(c.proxies, p)
	p.inFlight.Go(func() {
		if err := p.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(c.options.Log, "proxy: %v\n", err)
		}
	})
	return p, nil
}

// Close ends all connections and waits for the requests in flight. It returns an error while hooks still block.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.server.Close()
	ended := make(chan struct{})
	go func() {
		p.inFlight.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
		err = errors.Join(err, fmt.Errorf("requests are still in flight %s after the proxy was closed", closeTimeout))
	}
	p.withCertificate.CloseIdleConnections()
	p.plain.CloseIdleConnections()
	return err
}

// As has RESTConfig authenticate as another configuration of this cluster does. Call it before the first RESTConfig.
func (p *Proxy) As(config *rest.Config) { p.config = p.Via(config) }

// RESTConfig returns a new configuration by way of the proxy, for the administrator if As was not called.
func (p *Proxy) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Via returns a copy of a configuration of this cluster with the proxy's address and the same identity.
func (p *Proxy) Via(config *rest.Config) *rest.Config {
	via := rest.CopyConfig(config)
	via.Host = p.config.Host
	return via
}

// exchange is shared by the handlers of one request through its context.
type exchange struct {
	record *Request
	// incoming is the request as sent by the client, for matchers and hooks.
	incoming *http.Request
	after    []func(*http.Response) error
}

type exchangeKey struct{}

// serve handles one request: record it, ask the hooks, forward it.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		panic(http.ErrAbortHandler)
	}
	defer p.inFlight.Done()
	e := &exchange{incoming: r}
	record, err := p.record(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away in the middle of its request
	}
	e.record = record
	for _, hook := range p.currentHooks() {
		action := hook(r)
		switch {
		case action.Drop:
			panic(http.ErrAbortHandler)
		case action.Status != 0:
			p.setCode(record, action.Status)
			refuse(w, action)
			return
		case action.After != nil:
			e.after = append(e.after, action.After) //nolint:bodyclose // the reverse proxy closes the answer
		}
	}
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)))
}

// enter counts a request, unless the proxy is closed: Close waits for the counted ones.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.inFlight.Add(1)
	}
	return !p.closed
}

// answered runs when the API server answered, before anything is sent to the client.
func (p *Proxy) answered(response *http.Response) error {
	e, ok := response.Request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return errors.New("a request without its exchange")
	}
	p.setCode(e.record, response.StatusCode)
	for _, after := range e.after {
		if err := after(response); err != nil {
			return err
		}
	}
	if IsWatch(e.incoming) && response.StatusCode == http.StatusOK {
		response.Body = p.newStream(e.incoming, response.Body)
	}
	return nil
}

// forward sends a request to the API server, with the proxy's certificate only when it speaks for a client.
func (p *Proxy) forward(r *http.Request) (*http.Response, error) {
	if r.Header.Get(userHeader) != "" {
		return p.withCertificate.RoundTrip(r)
	}
	return p.plain.RoundTrip(r)
}

// identify turns the client's certificate into the identity headers of an authenticating proxy.
func identify(r *httputil.ProxyRequest) {
	r.Out.Header.Del(userHeader)
	r.Out.Header.Del(groupHeader)
	if r.In.TLS == nil || len(r.In.TLS.PeerCertificates) == 0 {
		return
	}
	subject := r.In.TLS.PeerCertificates[0].Subject
	r.Out.Header.Set(userHeader, subject.CommonName)
	for _, group := range subject.Organization {
		r.Out.Header.Add(groupHeader, group)
	}
}

// refuse answers in the place of the API server.
func refuse(w http.ResponseWriter, action Action) {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(action.Status), Reason: action.Reason, Message: action.Message,
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if action.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(action.RetryAfter))
	}
	w.WriteHeader(action.Status)
	if _, err := w.Write(body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func upstream(config *tls.Config) *http.Transport {
	// With a TLS configuration of its own, a Transport stays with HTTP/1.1: one connection for each watch here too.
	return &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 100, DisableCompression: true}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
