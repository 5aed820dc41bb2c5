// Command envtest fetches prebuilt programs of a control plane (etcd, kube-apiserver, kubectl) as setup-envtest does,
// the tool of controller-runtime whose packages it consists of. It takes the newest release that matches VERSION
// ("1.36.3", or "1.36.x" for any patch release) from an index, and unpacks its archive if the archive has the index's
// SHA-512 sum. It prints the directory of the programs, below an empty DIR.
//
//	envtest [-index URL] [-patience 5s] DIR VERSION
//
// Setup-envtest itself waits without end for a silent server. Here a connection ends with its first silence of that
// length, and no request is sent but by https or to a loopback address, redirects included.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/afero"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/env"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/remote"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/store"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/workflows"
)

func main() {
	defer env.HandleExitWithCode() // setup-envtest panics with its errors
	index := flag.String("index", remote.DefaultIndexURL, "the index of archives, by https or on a loopback address")
	patience := flag.Duration("patience", 5*time.Second, "how long a server may be silent")
	flag.Parse()
	if flag.NArg() != 2 {
		env.Exit(2, "usage: envtest [-index URL] [-patience DURATION] DIR VERSION")
	}
	version, err := versions.FromExpr(flag.Arg(1))
	if err != nil {
		env.ExitCause(2, err, "read the version")
	}
	http.DefaultClient.Transport = transport(*patience) // setup-envtest uses this client
	workflows.Use{PrintFormat: env.PrintPath}.Do(&env.Env{
		Log:       logr.Discard(),
		Client:    &remote.HTTPClient{IndexURL: *index},
		VerifySum: true,
		Version:   version,
		Platform:  versions.PlatformItem{Platform: versions.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}},
		FS:        afero.Afero{Fs: afero.NewOsFs()},
		Store:     store.NewAt(flag.Arg(0)),
		Out:       os.Stdout,
	})
}

// guarded sends a request by https or to a loopback address only.
type guarded struct{ http.RoundTripper }

// RoundTrip sends a request.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" && !net.ParseIP(request.URL.Hostname()).IsLoopback() {
		return nil, fmt.Errorf("%s is neither https nor on a loopback address", request.URL.Redacted())
	}
	return g.RoundTripper.RoundTrip(request)
}

// transport returns a transport whose connections end after a silence.
func transport(patience time.Duration) http.RoundTripper {
	dialer := net.Dialer{Timeout: patience}
	return guarded{&http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return impatient{conn, patience}, nil
		},
	}}
}

// impatient is a connection that fails when nothing arrives for a while.
type impatient struct {
	net.Conn
	patience time.Duration
}

// Read reads what arrives next.
func (c impatient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
