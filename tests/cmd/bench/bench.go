package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const (
	operatorNamespace = "cattle-helm-system"
	// patience bounds every wait for an event that is expected within seconds.
	patience = 2 * time.Minute
	// pause is how long either side may finish its reports before the other one is measured.
	pause = 700 * time.Millisecond
	// setupWidth is how many requests at once set things up.
	setupWidth = 16
)

// bench is one stage of a run: a control plane with an operator.
type bench struct {
	options
	result  *result
	section *section // that is being measured
	dir     string

	cluster       *cluster.Cluster
	setup, tamper *client
	operator      *process.Operator
	kubeconfig    string // of the operator
	observer      *observer
	floor         *floor
	audit         audit
	releases      *readiness
	// many is shared by the sections about many objects, nil until the first of them; locked reports whether it is
	// locked, and empty is the operator's memory before the lock.
	many   *world
	locked bool
	empty  process.Resident

	random  *rand.Rand
	foreign atomic.Int64 // counts the foreign values used so far
}

// measure runs the selected sections.
func measure(ctx context.Context, o options) (r *result, err error) {
	dir, err := os.MkdirTemp("", "helm-locker-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.operator == "" {
		progress("building the operator")
		if o.operator, err = process.Build(ctx, dir); err != nil {
			return nil, err
		}
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return nil, fmt.Errorf("directory for profiles: %w", err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "operator.log"))
	if err != nil {
		return nil, fmt.Errorf("log of the operator: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	r = &result{Machine: thisMachine(), Sizes: o.sizes}
	for _, parts := range stages() {
		parts = slices.DeleteFunc(parts, func(p part) bool { return !slices.Contains(o.chosen, p.name) })
		if len(parts) == 0 {
			continue
		}
		b := &bench{options: o, dir: dir, result: r, random: rand.New(rand.NewPCG(1, 2))}
		if err := b.stage(ctx, log, parts); err != nil {
			return nil, err
		}
	}
	r.end()
	return r, nil
}

// stage starts a control plane and an operator, takes the measures of its parts and stops everything.
func (b *bench) stage(ctx context.Context, log *os.File, parts []part) (err error) {
	b.cluster, err = cluster.Start(ctx, cluster.Options{
		// One file for the whole stage: the log is read from positions in it.
		ControllerManager: slices.ContainsFunc(parts, func(p part) bool { return p.name == policySection }),
		AuditLog:          true, ExtraAPIServerArgs: []string{"--audit-log-maxsize=100000"}, Log: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	// The watches end before the control plane does.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.prepare(ctx, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.operator.Stop()) }()
	// The operator creates the CRD of HelmReleases, which the watch needs.
	if err := b.operator.Start(ctx); err != nil {
		return err
	}
	if b.releases, err = newReadiness(ctx, b.setup, operatorNamespace); err != nil {
		return err
	}
	for _, p := range parts {
		progress("section %s", p.name)
		begun := time.Now()
		b.section = b.result.begin(p.name)
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("section %s: %w", p.name, err)
		}
		b.section.Seconds = time.Since(begun).Round(time.Second / 10).Seconds()
	}
	return b.floor.error()
}

// prepare makes the clients and the watches of this process; no operator runs yet.
func (b *bench) prepare(ctx context.Context, log *os.File) (err error) {
	b.audit = audit{b.cluster.AuditLog()}
	clients := map[string]*client{}
	for _, agent := range []string{agentBench, agentTamper, agentFloor, agentObserver} {
		if clients[agent], err = newClient(b.cluster.RESTConfig(), agent); err != nil {
			return err
		}
	}
	b.setup, b.tamper = clients[agentBench], clients[agentTamper]
	version, err := b.setup.kube.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("version of the API server: %w", err)
	}
	b.result.Machine.Kubernetes = version.GitVersion
	if b.observer, err = newObserver(ctx, clients[agentObserver]); err != nil {
		return err
	}
	if b.floor, err = newFloor(ctx, clients[agentFloor]); err != nil {
		return err
	}
	config, err := b.cluster.OperatorConfig(operatorNamespace)
	if err != nil {
		return err
	}
	if b.kubeconfig, err = b.cluster.KubeconfigFor("operator", config); err != nil {
		return err
	}
	b.operator = b.newProgram(log)
	return b.namespace(ctx, operatorNamespace)
}

// newProgram returns an operator of this stage before its start.
func (b *bench) newProgram(log *os.File, args ...string) *process.Operator {
	return &process.Operator{
		Path: b.options.operator, Kubeconfig: b.kubeconfig, Namespace: operatorNamespace,
		Pprof: b.profiles != "", Log: log, Args: args,
	}
}

// fresh restarts the operator, so that earlier work is not counted.
func (b *bench) fresh(ctx context.Context) error {
	if err := b.operator.Stop(); err != nil {
		return err
	}
	return b.operator.Start(ctx)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func (b *bench) namespace(ctx context.Context, name string) error {
	_, err := b.setup.kube.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// foreign returns a value that no object has had.
func (b *bench) nextForeign() string { return fmt.Sprintf("foreign-%d", b.foreign.Add(1)) }

// drift changes an object in one place to a foreign value.
func (b *bench) drift(ctx context.Context, o object) error {
	if !o.deployment {
		return b.tamper.patch(ctx, o, types.MergePatchType, fmt.Appendf(nil, `{"data":{"value":%q}}`, b.nextForeign()))
	}
	return b.tamper.patch(ctx, o, types.JSONPatchType, fmt.Appendf(nil,
		`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, b.nextForeign()))
}

// anyOf returns a random object.
func (b *bench) anyOf(objects []object) object { return objects[b.random.IntN(len(objects))] }
