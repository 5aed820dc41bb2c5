package page

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/viewer"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAStreamTellsEverythingAndThenWhatChanges(t *testing.T) {
	s := serve(t)
	s.store.set("one", "me")
	next := s.events()
	s.expect(next, "operator", `"ready":false,"compares":true`)
	s.expect(next, "release", `"key":"locker/one"`)
	s.expect(next, "listed", "1")
	close(s.ready)
	s.expect(next, "operator", `"ready":true`)
	s.store.set("two", "you")
	s.Changed("locker/two")
	s.expect(next, "release", `"lease":"you"`)
	s.store.remove("one")
	s.Changed("locker/one")
	s.expect(next, "gone", "locker/one")
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"", "assets/page.js", "events", "diff?namespace=locker&name=x"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions, http.MethodTrace} {
			check.Equal(t, s.ask(method, path).status, http.StatusMethodNotAllowed, "%s /%s is answered with", method,
				path)
		}
	}
	for path, want := range map[string]int{
		"": 200, "assets/page.js": 200, "events": 200, "nothing": 404, "assets/": 404, "assets/nothing.js": 404,
		"assets/..%2fpage.go": 404,
		"diff":                404, "diff?namespace=locker&name=x": 404, "metrics": 404, "debug/pprof/": 404,
	} {
		check.Equal(t, s.ask(http.MethodHead, path).status, want, "HEAD /%s is answered with", path)
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	s := serve(t, func(p *Page) { p.Hosts = []string{"locker.example"} })
	for _, path := range []string{"", "assets/page.css", "assets/icon.svg", "diff", "nothing"} {
		header := s.ask(http.MethodGet, path).header
		csp := header.Get("Content-Security-Policy")
		check.That(t, strings.Contains(csp, "default-src 'none'") && !strings.Contains(csp, "unsafe"),
			"/%s has the policy %q", path, csp)
		check.That(t,
			header.Get("X-Content-Type-Options") == "nosniff" && header.Get("Access-Control-Allow-Origin") == "" &&
				header.Get("Content-Type") != "", "/%s: %v", path, header)
	}
	for host, want := range map[string]int{
		"": 200, "127.0.0.1:8082": 200, "[::1]:8082": 200, "localhost:1": 200, "LOCALHOST.": 200, "x.localhost": 200,
		"page":                 200,
		"page.locker.svc:8082": 200, "page.locker.svc.cluster.local": 200, "Locker.Example:443": 200,
		"evil.example": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"evil.svc.example": http.StatusMisdirectedRequest, "notlocker.example": http.StatusMisdirectedRequest,
	} {
		check.Equal(t, s.ask(http.MethodGet, "", func(r *http.Request) { r.Host = host }).status, want,
			"as host %q the page is answered with", host)
	}
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404, "none": 404} {
		from := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) }
		check.Equal(t, s.ask(http.MethodGet, "diff", from).status, want, "a request that is %s is answered with", site)
		check.Equal(t, s.ask(http.MethodGet, "", from).status, http.StatusOK, "a link that is %s leads to", site)
	}
}

func TestViewersAreBounded(t *testing.T) {
	s := serve(t)
	for range maxStreams {
		s.expect(s.events(), "operator", "")
	}
	refused := s.ask(http.MethodGet, "events")
	check.That(t, refused.status == http.StatusServiceUnavailable && refused.header.Get("Retry-After") != "",
		"one more viewer is answered with %d %v", refused.status, refused.header)
	check.Equal(t, s.ask(http.MethodHead, "events").status, http.StatusServiceUnavailable, "HEAD says")
	check.Equal(t, s.ask(http.MethodGet, "").status, http.StatusOK, "the page itself is not served any more")
}

// A viewer that does not read is cut off, and makes room.
func TestAViewerThatDoesNotReadIsCutOff(t *testing.T) {
	s := serve(t, func(p *Page) { p.timeout = 200 * time.Millisecond })
	for i := range 4000 { // more than the kernel keeps for a connection
		s.store.set(strings.Repeat("x", i%50)+string(rune('a'+i%26))+time.Duration(i).String(), "me",
			func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = strings.Repeat("long ", 1000) })
	}
	connection, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.url, "http:"), "/"))
	check.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer janes\r\n\r\n")
	check.NoError(t, err)
	viewers := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.viewers)
	}
	eventually(t, "the viewer has joined", func() bool { return viewers() == 1 })
	eventually(t, "the viewer is cut off", func() bool { return viewers() == 0 })
}

func TestAClientThatSaysNothingIsCutOff(t *testing.T) {
	s := serve(t)
	connection, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.url, "http:"), "/"))
	check.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, "GET / HTTP/1.1\r\nHost: ")
	check.NoError(t, err)
	check.NoError(t, connection.SetReadDeadline(time.Now().Add(serving.Standard().Read+30*time.Second)))
	if _, err := io.ReadAll(connection); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Error("the connection is still open")
		}
	}
}

func TestComparisonsAreBounded(t *testing.T) {
	// No time fills the budget up again.
	s := serve(t, func(p *Page) { p.turns.budget = rate.NewLimiter(0, comparisonBurst) })
	s.store.set("one", "me")
	const path = "diff?namespace=locker&name=one"
	begun, finish := make(chan struct{}, comparedTogether), make(chan struct{})
	s.compare = func(ctx context.Context, _ *v1alpha1.HelmRelease, _ viewer.User) (*comparison, error) {
		begun <- struct{}{}
		select {
		case <-finish:
			return &comparison{Release: "apps/one"}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var running sync.WaitGroup
	for range comparedTogether {
		running.Go(func() {
			check.Equal(t, s.ask(http.MethodGet, path).status, http.StatusOK, "a comparison ended with")
		})
	}
	for range comparedTogether {
		<-begun
	}
	busy := s.ask(http.MethodGet, path)
	var said struct{ Error string }
	err := json.Unmarshal([]byte(busy.body), &said)
	check.That(t, err == nil && busy.status == http.StatusTooManyRequests && said.Error != "",
		"one more comparison is answered with %d %q (%v)", busy.status, said.Error, err)
	close(finish)
	running.Wait()
	s.compare = func(context.Context, *v1alpha1.HelmRelease, viewer.User) (*comparison, error) {
		return nil, errors.New("no\x1b[31m luck")
	}
	failed := s.ask(http.MethodGet, path)
	check.That(t, failed.status == http.StatusBadGateway && strings.Contains(failed.body, `\\x1b[31m`),
		"a comparison that failed is answered with %d %s", failed.status, failed.body)
	for range comparisonBurst {
		s.ask(http.MethodGet, path)
	}
	check.Equal(t, s.ask(http.MethodGet, path).status, http.StatusTooManyRequests, "there is no end of comparisons")
}
