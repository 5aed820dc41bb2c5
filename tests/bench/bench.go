package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/cluster"
)

const (
	operatorNamespace = "cattle-helm-system"
	// patience bounds every wait for something that is expected to happen within seconds.
	patience = 2 * time.Minute
	// pause is how long either side may finish its reports before the other one is measured.
	pause = 700 * time.Millisecond
	// setupWidth is how many requests at once set things up.
	setupWidth = 16
)

// bench is one run.
type bench struct {
	options
	result *result
	dir    string

	setup, tamper *client
	operator      *program
	observer      *observer
	floor         *floor
	audit         audit
	releases      *readiness

	random  *rand.Rand
	foreign atomic.Int64 // counts the foreign values used so far
}

// measure starts everything, takes all measures and stops everything.
func measure(ctx context.Context, o options) (r *result, err error) {
	dir, err := os.MkdirTemp("", "helm-locker-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, dir: dir, result: newResult(o), random: rand.New(rand.NewPCG(1, 2))}

	c, err := cluster.Start(ctx, cluster.Options{
		// One file for the whole run: the log is read from positions in it.
		AuditLog: true, ExtraAPIServerArgs: []string{"--audit-log-maxsize=100000"}, Log: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	// The watches end before the control plane does.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.prepare(ctx, c); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.operator.stop(), b.operator.log.Close()) }()
	for _, step := range []func(context.Context) error{b.idle, b.latency, b.bursts, b.many} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	b.result.end()
	return b.result, b.floor.error()
}

// prepare makes the clients, the watches of this process and the operator's program.
func (b *bench) prepare(ctx context.Context, c *cluster.Cluster) (err error) {
	b.audit = audit{c.AuditLog()}
	clients := map[string]*client{}
	for _, agent := range []string{agentBench, agentTamper, agentFloor, agentObserver} {
		if clients[agent], err = newClient(c.RESTConfig(), agent); err != nil {
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
	if err := b.namespace(ctx, operatorNamespace); err != nil {
		return err
	}
	b.operator = &program{path: b.options.operator, kubeconfig: c.Kubeconfig(), namespace: operatorNamespace, pprof: b.profiles != ""}
	if b.operator.path == "" {
		b.progress("building the operator")
		if b.operator.path, err = buildOperator(ctx, b.dir); err != nil {
			return err
		}
	}
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o755); err != nil {
			return fmt.Errorf("directory for profiles: %w", err)
		}
	}
	name := b.options.log
	if name == "" {
		name = filepath.Join(b.dir, "operator.log")
	}
	if b.operator.log, err = os.Create(name); err != nil {
		return fmt.Errorf("log of the operator: %w", err)
	}
	return nil
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func (b *bench) namespace(ctx context.Context, name string) error {
	_, err := b.setup.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// world is a set of releases, and as many objects for the floor.
type world struct {
	releases      []types.NamespacedName
	locked, floor []object
}

// releasesPerNamespace spreads releases as clusters do.
const releasesPerNamespace = 20

// world makes releases with a total of objects, spread evenly, and the same objects for the floor. Nothing is locked yet.
func (b *bench) world(ctx context.Context, name string, releases, total int) (*world, error) {
	b.progress("setting up %s: %d objects in %d releases, and as many for the floor", name, total, releases)
	w := &world{}
	perRelease := map[types.NamespacedName][]object{}
	for i := range releases {
		n := total/releases + min(1, max(0, total%releases-i))
		rel := types.NamespacedName{Namespace: fmt.Sprintf("%s-%d", name, i/releasesPerNamespace), Name: fmt.Sprintf("%s-%d", name, i)}
		floors := fmt.Sprintf("%s-floor-%d", name, i/releasesPerNamespace)
		for _, namespace := range []string{rel.Namespace, floors} {
			if err := b.namespace(ctx, namespace); err != nil {
				return nil, err
			}
		}
		perRelease[rel] = objects(rel.Namespace, rel.Name, rel.Name, n)
		w.releases = append(w.releases, rel)
		w.locked = append(w.locked, perRelease[rel]...)
		w.floor = append(w.floor, objects(floors, "", rel.Name, n)...)
	}
	for side, manager := range map[*[]object]string{&w.locked: "helm", &w.floor: "floor"} {
		marked := b.observer.mark(*side...)
		err := each(ctx, setupWidth, *side, func(ctx context.Context, o object) error { return b.setup.create(ctx, o, manager) })
		if err != nil {
			return nil, fmt.Errorf("set objects up: %w", err)
		}
		if err := b.allRestored(ctx, marked); err != nil {
			return nil, err
		}
	}
	err := each(ctx, setupWidth, w.releases, func(_ context.Context, rel types.NamespacedName) error {
		return b.setup.record(rel.Namespace, rel.Name, perRelease[rel])
	})
	if err != nil {
		return nil, err
	}
	return w, b.floor.protect(w.floor)
}

// allRestored waits until the objects are as declared, and fails when one does not come to be.
func (b *bench) allRestored(ctx context.Context, marked map[object]uint64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	times, err := b.observer.restored(ctx, marked)
	if err != nil {
		return err
	}
	for o := range marked {
		if _, ok := times[o]; !ok {
			return errors.Join(fmt.Errorf("%s %s/%s is not as declared after %s", o.resource(), o.namespace, o.name, patience), b.floor.error())
		}
	}
	return nil
}

// lock locks the releases of a world and returns how long it took until all were Ready.
func (b *bench) lock(ctx context.Context, w *world) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begun := time.Now()
	if err := b.releases.lock(ctx, w.releases); err != nil {
		return 0, fmt.Errorf("create HelmReleases: %w", err)
	}
	last, err := b.releases.wait(ctx, len(w.releases))
	return last.Sub(begun), err
}

// unlock ends the lock of a world.
func (b *bench) unlock(ctx context.Context, w *world) error {
	if err := b.releases.unlock(ctx, w.releases); err != nil {
		return fmt.Errorf("delete HelmReleases: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := b.releases.wait(ctx, 0)
	return err
}

// idleFor lets time go by in which nothing is asked of anybody.
func idleFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bench) nextForeign() int { return int(b.foreign.Add(1)) }
