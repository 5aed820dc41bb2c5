// Package page tests the status page of a real operator with a real browser, and the rights of other clients of the
// page.
package page

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var screenshot = flag.String(
	"screenshot", "", "write pictures of the page to this `FILE`.png, and to files named after it",
)

// Set by TestMain: the control plane of this package, nil with -short, and the browser driver with its browser; empty
// where there is none.
var (
	browser, chromium string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	dir, err := os.MkdirTemp("", "helm-locker-page-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if flag.Parse(); chromium != "" && !testing.Short() {
		browser = filepath.Join(dir, "browser")
		build := exec.Command("go", "-C", "browser", "build", "-o", browser, ".")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the driver of the browser: %v\n%s", err, out)
			return 1
		}
	}
	return kit.Run(m, cluster.Options{ControllerManager: true})
}

// fixture is an environment with an operator, and a page with exactly its rights.
type fixture struct {
	*kit.Env
	operator, page *kit.Operator
}

func newFixture(t *testing.T, options ...func(*page.RunOptions)) *fixture {
	t.Helper()
	w := &fixture{Env: kit.New(t, kit.Shared)}
	w.operator = w.start()
	w.page = w.serve(options...)
	return w
}

// start starts an operator that serves its events.
func (w *fixture) start(options ...func(*operator.ControllerOptions)) *kit.Operator {
	w.Helper()
	return kit.StartOperator(w.TB, w.OperatorConfig(), w.Operator,
		append([]func(*operator.ControllerOptions){kit.Events}, options...)...)
}

// serve starts a page.
func (w *fixture) serve(options ...func(*page.RunOptions)) *kit.Operator {
	w.Helper()
	return kit.StartPage(w.TB, w.PageAccount("page"), w.Operator, options...)
}

// url returns the address of a page.
func (w *fixture) url(op *kit.Operator) string {
	w.Helper()
	return w.URL(op, "page") + "/"
}

// edit changes a ConfigMap's key as some field manager.
func (w *fixture) edit(name, value string) {
	w.Helper()
	w.Patch(kit.ConfigMaps, name, fmt.Sprintf(`{"data":{"key":%q}}`, value))
}

// signed serves the page to users with the right to list HelmReleases, and compares.
func signed(o *page.RunOptions) { o.Auth = true }

// signIn enters a token in the page's form, as a viewer does.
func (t *tab) signIn(token string) {
	t.Helper()
	t.says("#signin", "Sign in")
	eval[string](t, fmt.Sprintf("document.getElementById('token').value = %q", token))
	t.click("#signin button")
}
