package page

import (
	"context"
	"embed"
	"net/http"
	"path"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
)

//go:embed assets
var assets embed.FS

// contentTypes are those of the files in assets, by extension. The MIME tables of the machine play no part.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// contentPolicy lets the page load its own files and nothing else. No other page may frame it, and no text becomes
// HTML.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types " +
	"'none'"

// handler serves everything. Patterns with GET answer HEAD, too; other methods are turned down by the mux.
func (p *Page) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { asset(w, "page.html") })
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { asset(w, r.PathValue("name")) })
	mux.HandleFunc("GET /events", p.events)
	mux.HandleFunc("GET /release", p.release)
	mux.HandleFunc("GET /objects", p.costly(p.objects))
	compared := func(ctx context.Context, hr *v1alpha1.HelmRelease, by viewer.User) (any, error) {
		return p.compare(ctx, hr, by)
	}
	mux.HandleFunc("GET /diff", p.costly(compared))
	return guard(p.Hosts, mux)
}

// guard sets the common headers and turns away requests for foreign hosts and from foreign origins. Without a sign-in,
// no other site may make a browser read the page for it: neither under a host name of its own (DNS rebinding) nor from
// a document of its own.
func guard(hosts []string, next http.Handler) http.Handler {
	known := serving.ForHosts(hosts, "--page-host", next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if site := r.Header.Get("Sec-Fetch-Site"); r.URL.Path != "/" && site != "" && site != "same-origin" &&
			site != "none" {
			http.Error(w, "the page answers no other site", http.StatusForbidden)
			return
		}
		known.ServeHTTP(w, r)
	})
}

func asset(w http.ResponseWriter, name string) {
	contentType, known := contentTypes[path.Ext(name)]
	content, err := assets.ReadFile("assets/" + name)
	if err != nil || !known {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentType)
	// An error means that the client has disconnected.
	_, _ = w.Write(content) //nolint:gosec // G705: a file of ours, whichever was asked for
}
