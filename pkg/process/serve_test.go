package process

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// status returns how a handler answers a GET for a URL.
func status(handler http.Handler, url string) int {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
	return w.Code
}

func TestMetricsAndProfilesAreNotForWebSites(t *testing.T) {
	values := Guarded(metrics.New("v1", "c").Handler(), []string{"metrics.example"}, nil)
	profiles := profilesHandler()
	for _, tc := range []struct {
		name    string
		handler http.Handler
		url     string
		want    int
	}{
		{"metrics by address", values, "http://10.42.0.7:8080/metrics", http.StatusOK},
		{"metrics by a name that is ours", values, "http://metrics.example/metrics", http.StatusOK},
		{"metrics by a name that could be anybody's", values, "http://evil.example/metrics", http.StatusMisdirectedRequest},
		{"profiles by localhost", profiles, "http://localhost:6060/debug/pprof/", http.StatusOK},
		{"profiles by a name that could be anybody's", profiles, "http://evil.example:6060/debug/pprof/",
			http.StatusMisdirectedRequest},
		{"the command line, which may hold passwords", profiles, "http://localhost:6060/debug/pprof/cmdline",
			http.StatusNotFound},
	} {
		check.Equal(t, status(tc.handler, tc.url), tc.want, "%s: answered with", tc.name)
	}
}
