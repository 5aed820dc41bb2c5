package operator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// serve runs the HTTP listeners that are asked for until ctx ends.
func (p *program) serve(ctx context.Context) error {
	o := p.options
	group, ctx := errgroup.WithContext(ctx)
	listen := func(what, address string, handler http.Handler) {
		if address != "" && address != "0" {
			group.Go(func() error { return listenAndServe(ctx, o, what, address, handler) })
		}
	}
	metricsMux := http.NewServeMux()
	metricsMux.Handle("/metrics", metricsHandler(p.conn, o, p.metrics))
	health := healthHandler(p.controller)
	if o.HealthAddress == o.MetricsAddress {
		metricsMux.Handle("/", health)
	} else {
		listen("health", o.HealthAddress, health)
	}
	listen("metrics", o.MetricsAddress, metricsMux)
	if o.PprofEnabled {
		listen("pprof", pprofAddress, pprofHandler())
	}
	return group.Wait()
}

func listenAndServe(ctx context.Context, o ControllerOptions, what, address string, handler http.Handler) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s address: %w", what, err)
	}
	o.Log.Debugf("%s on %s", what, listener.Addr())
	if err := serving.Run(ctx, listener, handler, serving.Standard(), o.Log); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// metricsHandler answers /metrics.
func metricsHandler(conn *connection, o ControllerOptions, m *metrics.Metrics) http.Handler {
	values := m.Handler()
	if o.MetricsAuth {
		values = viewer.New(conn.Kubernetes, o.Clock, o.Log).Guard("/metrics", values)
	}
	return serving.ForHosts(o.MetricsHosts, "--metrics-host", values)
}

// healthHandler answers /healthz while the process lives, and /readyz once the operator watches and judges.
func healthHandler(c *controller.Controller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-c.Ready():
			answer(w, http.StatusOK, "ok")
		default:
			text := "still reading the release records"
			if err := c.RecordsError(); err != nil {
				text += ": " + err.Error()
			}
			answer(w, http.StatusServiceUnavailable, text)
		}
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	// The client may be gone; there is no one left to tell.
	_, _ = w.Write([]byte(text + "\n"))
}

// pprofHandler answers what `go tool pprof` asks, to programs of this machine: there is no Service in front of it,
// and no web site reaches it by a name of its own. The command line is not served: URLs in it may hold passwords.
func pprofHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return serving.ForHosts(nil, "", mux)
}
