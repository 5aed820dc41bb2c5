package tamper

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// writes returns the operator's writes to objects since the last reset of the proxy, except those to its own objects
// and those without an effect: dry runs, and conflicts, which only cause another read.
func (w *fixture) writes() []cluster.Request {
	return slices.DeleteFunc(w.proxy.Writes(), func(r cluster.Request) bool {
		return kit.IsOwn(r) || r.Query.Get("dryRun") != "" || r.Code >= 400
	})
}

// wantNoWrites fails the test when the operator has written to an object since the last reset.
func (w *fixture) wantNoWrites(t *testing.T) {
	t.Helper()
	for _, r := range w.writes() {
		t.Errorf("wrote to an object that nobody tampered with: %s %.1000s", r, r.Body)
	}
}

// wantNoStrayWrites fails the test when the operator has written to anything but objects of releases since the last
// reset.
func (w *fixture) wantNoStrayWrites(t *testing.T) {
	t.Helper()
	for _, r := range w.writes() {
		known := slices.ContainsFunc(w.charts, func(ch *chart) bool {
			return slices.ContainsFunc(ch.objects, func(o *object) bool {
				return r.Path == o.path || r.Path == o.collection && r.Method == http.MethodPost
			})
		})
		check.That(t, known, "wrote to something that is of no release: %s %.1000s", r, r.Body)
	}
}

// calm waits for a period without writes of the operator. The write of an object may be followed by one of its
// ownership, which must not count for the next part.
func (w *fixture) calm(t *testing.T) {
	t.Helper()
	for known := -1; known != len(w.proxy.Writes()); {
		known = len(w.proxy.Writes())
		select {
		case <-time.After(500 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
