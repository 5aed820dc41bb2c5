// Command captures makes the pictures of terminals in docs/images: it runs helm-locker in tmux, on a real control
// plane, and draws the screen (`capture-pane -e`) as SVG. scripts/captures calls it.
//
// It needs tmux. Arguments are the names of the pictures (diff, status-watch, demo); all without any.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// patience is the timeout of a picture. The demo runs for half a minute on an idle machine.
const patience = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "captures:", err)
		os.Exit(1)
	}
}

// run works in the top directory of the repository, where scripts/captures starts it.
func run(ctx context.Context, names []string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dir, err := os.MkdirTemp("", "helm-locker-captures-")
	if err != nil {
		return fmt.Errorf("create a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &studio{dir: dir}
	if err := s.tools(ctx); err != nil {
		return err
	}
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	if wanted("diff") || wanted("status-watch") {
		if err := s.withCluster(ctx, func() error { return s.shop(ctx, wanted) }); err != nil {
			return err
		}
	}
	if wanted("demo") {
		return s.demo(ctx)
	}
	return nil
}

// studio is where pictures are taken.
type studio struct {
	dir        string
	binaries   cluster.Binaries
	kubeconfig string
}

// tools fills a directory for the PATH.
func (s *studio) tools(ctx context.Context) (err error) {
	if s.binaries, err = cluster.Build(ctx, os.Stderr); err != nil {
		return err
	}
	locker, err := filepath.Abs(filepath.Join("bin", "helm-locker"))
	if err != nil {
		return fmt.Errorf("find bin/helm-locker: %w", err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		return fmt.Errorf("create a directory: %w", err)
	}
	for name, target := range map[string]string{"kubectl": s.binaries.Kubectl, "helm": s.binaries.Helm4,
		"helm-locker": locker} {
		if err := os.Symlink(target, filepath.Join(s.dir, "bin", name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

func (s *studio) env() []string {
	env := []string{"PATH=" + filepath.Join(s.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" +
		s.dir, "KUBECONFIG=" + s.kubeconfig,
		"LANG=C.UTF-8"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "HELM_LOCKER_CACHE"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// withCluster runs an operator on a control plane while it calls do.
func (s *studio) withCluster(ctx context.Context, do func() error) (err error) {
	c, err := cluster.Start(ctx, cluster.Options{ControllerManager: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	s.kubeconfig = c.Kubeconfig()
	if err := s.do(ctx, "kubectl create namespace cattle-helm-system"); err != nil {
		return err
	}
	operator := exec.Command(filepath.Join("bin", "helm-locker-operator"), "--metrics-address=0", "--health-address=0")
	operator.Env = s.env()
	if err := operator.Start(); err != nil {
		return fmt.Errorf("start helm-locker: %w", err)
	}
	defer func() { err = errors.Join(err, operator.Process.Signal(syscall.SIGTERM), operator.Wait()) }()
	return do()
}

// do runs commands outside of the picture.
func (s *studio) do(ctx context.Context, commands string) error {
	cmd := exec.CommandContext(ctx, "bash", "-euc", commands)
	cmd.Env = s.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", commands, err, out)
	}
	return nil
}

// shop takes the pictures of the commands.
func (s *studio) shop(ctx context.Context, wanted func(string) bool) error {
	err := s.do(ctx, `helm install shop tests/cmd/demo/charts/shop --namespace apps --create-namespace
kubectl -n apps patch configmap shop --type=merge -p '{"data":{"greeting":"Closed"}}'
kubectl -n apps patch secret shop --type=merge -p '{"stringData":{"password":"12345"}}'
kubectl -n apps set image deployment/shop-web web=evil.example/miner
kubectl -n apps delete service shop-web`)
	if err != nil {
		return err
	}
	if wanted("diff") {
		if err := s.picture(ctx, shot{"diff", 108, 60, "helm-locker diff shop -n apps"}, "", nil); err != nil {
			return err
		}
	}
	if !wanted("status-watch") {
		return nil
	}
	if err := s.do(ctx, `kubectl wait --for=create crd/helmreleases.helm.cattle.io --timeout=60s
helm-locker lock shop -n apps --yes --wait`); err != nil {
		return err
	}
	return s.picture(ctx, shot{"status-watch", 160, 12, "helm-locker status --watch"}, "not locked: suspended", func() error {
		// One after the other: two changes of one object at once would be one line.
		return s.do(ctx, `drift() { until test "$(kubectl -n cattle-helm-system get hlr shop -o jsonpath='{range .status.recentDrift[*]}x{end}' | wc -c)" -ge "$1"; do :; done; }
kubectl -n apps set image deployment/shop-web web=evil.example/miner; drift 5
kubectl -n apps scale deployment/shop-web --replicas=0; drift 6
kubectl -n apps delete service shop-web; drift 7
kubectl -n apps patch secret shop --type=merge -p '{"stringData":{"password":"12345"}}'; drift 8
helm upgrade shop tests/cmd/demo/charts/shop -n apps --set greeting=Hello
kubectl -n cattle-helm-system wait hlr/shop --for=jsonpath='{.status.revision}'=2 --timeout=60s
kubectl -n apps label ingress/shop app.kubernetes.io/managed-by-; drift 9
helm-locker suspend shop -n apps --for 30m --reason "load test"`)
	})
}

// demo takes the picture of the end of the demo, which starts its own control plane.
func (s *studio) demo(ctx context.Context) error {
	return s.picture(ctx, shot{"demo", 150, 46, "make demo"}, "", nil)
}

// shot is a picture of a command's output on a terminal of a size.
type shot struct {
	name          string
	columns, rows int
	command       string
}

// picture types a command, has something happen meanwhile, waits until a text is on the screen (or, without one,
// until the command has ended), and draws it.
func (s *studio) picture(ctx context.Context, p shot, until string, meanwhile func() error) (err error) {
	t, err := newTerminal(ctx, s.dir, s.env(), p.columns, p.rows)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.enter(ctx, p.command); err != nil {
		return err
	}
	if meanwhile != nil {
		if _, err := t.until(ctx, "Z  "); err != nil { // its first line
			return err
		}
		if err := meanwhile(); err != nil {
			return err
		}
	}
	if until == "" {
		until = "\n" + strings.TrimSpace(prompt) + "\n"
	}
	screen, err := t.until(ctx, until)
	if err != nil {
		return err
	}
	path := filepath.Join("docs", "images", p.name+".svg")
	if err := os.WriteFile(path, []byte(draw(p.command, p.columns, parseScreen(screen))), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	fmt.Println("made", path)
	return nil
}
