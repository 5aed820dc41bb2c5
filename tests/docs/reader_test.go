package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// reader follows pages.
type reader struct {
	world   *world
	locker  string // the program
	dir     string
	counted int
}

func newReader(t *testing.T) *reader {
	t.Helper()
	dir := t.TempDir()
	tree := filepath.Join(dir, "build")
	check.NoError(t, workingTree(t.Context(), tree))
	env, err := environment(t.Context(), dir, "/nowhere", shared.Kubeconfig())
	check.NoError(t, err)
	build := exec.CommandContext(t.Context(), "make", "build")
	build.Dir, build.Env = tree, env
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	w, err := newWorld(t.Context(), shared)
	check.NoError(t, err)
	return &reader{world: w, locker: filepath.Join(tree, "bin", "helm-locker"), dir: dir}
}

// read follows one page from the beginning to the end, and leaves the cluster as it was.
func (r *reader) read(t *testing.T, p *page, helm string) {
	r.counted++
	dir := filepath.Join(r.dir, strconv.Itoa(r.counted))
	tree, home, bin := filepath.Join(dir, "helm-locker"), filepath.Join(dir, "home"), filepath.Join(dir, "bin")
	kubeconfig := filepath.Join(home, "kubeconfig")
	check.NoError(t, workingTree(t.Context(), tree))
	check.NoError(t, os.Mkdir(filepath.Join(tree, "bin"), 0o755))
	for _, program := range []string{"", "-operator", "-notifications"} {
		check.NoError(t, os.Link(r.locker+program, filepath.Join(tree, "bin", "helm-locker"+program)))
	}
	check.NoError(t, programs(bin, shared.Binaries(), helm, r.locker))
	check.NoError(t, copyFile(shared.Kubeconfig(), kubeconfig))
	env, err := environment(t.Context(), home, bin, kubeconfig)
	check.NoError(t, err)
	stop := r.startKubelet(t, home)
	s, err := newShell(tree, home, env)
	check.NoError(t, err)
	t.Cleanup(func() {
		check.Report(t, s.close())
		stop()
		check.NoError(t, r.world.reset(context.WithoutCancel(t.Context())))
	})
	err = give(s, p.given)
	check.Must(t, err == nil, "%s: %v", p.path, err)
	if *record && p.isWalk() {
		p.record(t, s)
		return
	}
	for _, b := range p.blocks {
		if b.notRun == "" && !p.follow(t, s, b) {
			return
		}
	}
	for _, j := range s.jobs {
		p.settle(t, j)
	}
}

// startKubelet runs a kubelet; the returned function ends it.
func (r *reader) startKubelet(t *testing.T, dir string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	k := newKubelet(r.locker+"-operator", dir, func(err error) { t.Error(err) })
	k.cluster, k.client = shared, r.world.client
	var running sync.WaitGroup
	running.Go(func() {
		check.Report(t, k.run(ctx))
	})
	return func() {
		if t.Failed() {
			t.Logf("log of the operator:\n%s", k.logs())
		}
		k.settle()
		cancel()
		running.Wait()
	}
}

// gifts are the possible given objects of a page, in the order of their creation, with their commands.
var gifts = []struct{ name, text string }{
	{"helm 3 and 4", "true"},
	{"nothing", "true"},
	{"operator", `helm install helm-locker charts/helm-locker -n cattle-helm-system --create-namespace && kubectl -n cattle-helm-system rollout status deployment/helm-locker --timeout=60s`},
	{"shop", `helm install shop tests/cmd/demo/charts/shop -n apps --create-namespace`},
	{"bakery", `helm install bakery tests/cmd/demo/charts/bakery -n kitchen --create-namespace`},
	{"lock", `helm-locker lock shop -n apps --wait`},
	{"drift", `kubectl -n apps patch configmap shop --type=merge -p '{"data":{"greeting":"Closed"}}'`},
}

func give(s *shell, given []string) error {
	for _, name := range given {
		if !slices.ContainsFunc(gifts, func(g struct{ name, text string }) bool { return g.name == name }) {
			return fmt.Errorf("%q cannot be given; tests/docs has a list", name)
		}
	}
	for _, g := range gifts {
		if !slices.Contains(given, g.name) {
			continue
		}
		if out, code, err := s.run(g.text); err != nil || code != 0 {
			return fmt.Errorf("give %s: exit code %d, %w\n%s", g.name, code, err, out)
		}
	}
	return nil
}
