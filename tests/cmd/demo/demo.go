package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/tests/cmd/demo/observe"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// patience is the demo's timeout for steps that normally take milliseconds.
const patience = 30 * time.Second

// startPatience is how long a control plane may take to start on a busy machine.
const startPatience = 2 * time.Minute

// operatorTakes is the time of the operator's first build on two cores. The demo shares most of it.
const operatorTakes = 30 * time.Second

// operatorNamespace is the namespace of the operator and of the HelmReleases.
const operatorNamespace = "cattle-helm-system"

// release is one of the two Helm releases, with its helm command.
type release struct {
	name, namespace, helm string
}

var (
	shop   = release{name: "shop", namespace: "apps", helm: "helm3"}
	bakery = release{name: "bakery", namespace: "kitchen", helm: "helm4"}
)

// String returns "shop (helm3)".
func (r release) String() string { return r.name + " (" + r.helm + ")" }

// observed are the kinds of the charts' objects.
var observed = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "serviceaccounts"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "bakery.example.com", Version: "v1", Resource: "ovens"},
}

// demo is a demo under way.
type demo struct {
	screen   *screen
	shell    *shell
	cluster  *cluster.Cluster
	operator *process.Operator
	audit    audit
	watch    *observe.Observer
	summary  summary
}

// run runs the demo and always removes everything it created.
func run(ctx context.Context, s *screen) (err error) {
	repository, err := cluster.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "helm-locker-demo-")
	if err != nil {
		return fmt.Errorf("create a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	s.act("Build what is missing, start a control plane (the first time takes minutes)")
	var bin string
	err = cluster.Step(s, "helm-locker", operatorTakes, func() (err error) {
		bin, err = process.Build(ctx, dir, process.Commands)
		return err
	})
	if err != nil {
		return err
	}
	c, err := startCluster(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()

	log, err := os.Create(filepath.Join(dir, "helm-locker.log"))
	if err != nil {
		return fmt.Errorf("log of the operator: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	d := &demo{
		screen: s, cluster: c, shell: newShell(s, c, repository, dir),
		operator: &process.Operator{Path: bin, Namespace: operatorNamespace, Log: log, OwnGroup: true},
		audit: audit{path: c.AuditLog(), operator: "system:serviceaccount:" + operatorNamespace +
			":helm-locker", person: "admin"},
	}
	defer func() { err = errors.Join(err, d.operator.Stop()) }()
	return d.play(ctx)
}

func startCluster(ctx context.Context, s *screen) (*cluster.Cluster, error) {
	binaries, err := cluster.BuildForDemo(ctx, s)
	if err != nil {
		return nil, err
	}
	programs := "etcd, kube-apiserver and kube-controller-manager"
	if binaries.ControllerManager == "" {
		programs = "etcd and kube-apiserver"
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{ControllerManager: binaries.ControllerManager != "",
		AuditLog: true, Demo: true})
	if err != nil {
		return nil, err
	}
	s.line("demo", fmt.Sprintf("started %s in %.1f s", programs, time.Since(began).Seconds()))
	return c, nil
}

// play runs the acts. It prints the summary even after a failed act.
func (d *demo) play(ctx context.Context) error {
	var err error
	for _, act := range []func(context.Context) error{
		d.install, d.lock, d.tamperWithShop, d.tamperWithBakery, d.tamperDuringDowntime, d.upgrade, d.forge, d.suspend,
		d.uninstall,
	} {
		if err = act(ctx); err != nil {
			break
		}
	}
	if d.watch != nil {
		d.watch.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		d.summary.add(result{what: "the demo broke off", note: firstLine(err)})
	}
	d.summary.show(d.screen)
	if d.summary.failed() {
		d.screen.act("The end of the operator's log")
		d.screen.output(tail(d.operator.Log.Name()))
		return errors.Join(err, errFailed)
	}
	return err
}

// record prints a result of the demo's watch, and adds it to the summary.
func (d *demo) record(row result, seen string) {
	d.screen.verdict(row.ok, "watch", seen, row.note)
	d.summary.add(row)
}

// observe starts the demo's own watches.
func (d *demo) observe(ctx context.Context) error {
	client, err := dynamic.NewForConfig(d.cluster.RESTConfig())
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	d.watch, err = observe.Start(ctx, client, observed, shop.namespace, bakery.namespace)
	return err
}

// ready waits until a revision of the release is locked and its HelmRelease is Ready.
func (d *demo) ready(ctx context.Context, r release, revision int) error {
	for _, condition := range []string{fmt.Sprintf("jsonpath={.status.revision}=%d", revision), "condition=Ready"} {
		if err := d.await(ctx, r, condition); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a HelmRelease meets a condition of `kubectl wait --for`.
func (d *demo) await(ctx context.Context, r release, condition string) error {
	_, err := d.shell.run(ctx, "kubectl", "-n", operatorNamespace, "wait", "hlr/"+r.name, "--for="+
		condition, "--timeout="+patience.String())
	return err
}

// list shows the HelmReleases by kubectl.
func (d *demo) list(ctx context.Context) error {
	out, err := d.shell.show(ctx, "kubectl", "-n", operatorNamespace, "get", "helmreleases")
	d.screen.output(out)
	return err
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// tail returns the last lines of a file.
func tail(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(content), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "")
}
