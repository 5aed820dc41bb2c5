package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	leases "github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// profilesAddress is that of Go's profiles.
const profilesAddress = "localhost:6060"

// Listeners are the addresses of a process for metrics, health and profiles; empty or 0 for none.
type Listeners struct {
	// Metrics answers at MetricsAddress. Ready decides the answer of /readyz at HealthAddress: its error is the reason
	// why the process is not ready.
	MetricsAddress, HealthAddress string
	Metrics                       http.Handler
	Ready                         func() error
	// MetricsListener is an open listener for the MetricsAddress; nil for none.
	MetricsListener net.Listener
	// Events answers at /events of the MetricsAddress; nil for none.
	Events http.Handler
	// Profiles serves Go's profiles on localhost:6060.
	Profiles bool
	Log      logrus.FieldLogger
}

// Run answers until ctx ends.
func (l Listeners) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	listen := func(what, address string, handler http.Handler) {
		if !Asked(address) {
			return
		}
		group.Go(func() error {
			listener, err := Listen(ctx, what, address, l.Log)
			if err != nil {
				return err
			}
			return l.serve(ctx, what, listener, handler)
		})
	}
	metrics := http.NewServeMux()
	metrics.Handle("/metrics", l.Metrics)
	if l.Events != nil {
		metrics.Handle(leases.EventsPath, l.Events)
	}
	health := healthHandler(l.Ready)
	if l.HealthAddress == l.MetricsAddress {
		metrics.Handle("/", health)
	} else {
		listen("health", l.HealthAddress, health)
	}
	if l.MetricsListener != nil {
		group.Go(func() error { return l.serve(ctx, metricsName, l.MetricsListener, metrics) })
	} else {
		listen(metricsName, l.MetricsAddress, metrics)
	}
	if l.Profiles {
		listen("pprof", profilesAddress, profilesHandler())
	}
	return group.Wait()
}

// Asked reports whether an option asks for a listener.
func Asked(address string) bool { return address != "" && address != "0" }

// metricsName is the name of the metrics' address in errors and in the log.
const metricsName = "metrics"

// Listen opens a listener. what is its name in errors and in the log.
func Listen(ctx context.Context, what, address string, log logrus.FieldLogger) (net.Listener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s address: %w", what, err)
	}
	log.Debugf("%s on %s", what, listener.Addr())
	return listener, nil
}

func (l Listeners) serve(ctx context.Context, what string, listener net.Listener, handler http.Handler) error {
	if err := serving.Run(ctx, listener, handler, serving.Standard(), l.Log); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// healthHandler answers /healthz while the process lives, and /readyz once ready returns no error.
func healthHandler(ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	// The client may have disconnected.
	_, _ = w.Write([]byte(text + "\n"))
}

// profilesHandler answers `go tool pprof` on this machine: there is no Service in front of it, and no web site reaches
// it by its own name. It does not serve the command line, because URLs in it may hold passwords.
func profilesHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return serving.ForHosts(nil, "", mux)
}

// Guarded returns the handler of metrics, for these host names beside addresses and names inside of the cluster. With
// viewers, it answers only users with the right to get /metrics.
func Guarded(values http.Handler, hosts []string, viewers *viewer.Reviewer) http.Handler {
	if viewers != nil {
		values = viewers.Guard("/metrics", values)
	}
	return serving.ForHosts(hosts, "--metrics-host", values)
}
