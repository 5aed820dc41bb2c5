package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// locking measures the cost of locking many objects: time, writes and memory, in a new process.
func (b *bench) locking(ctx context.Context) error {
	w, err := b.manyWorld(ctx)
	if err != nil {
		return err
	}
	if err := b.fresh(ctx); err != nil {
		return err
	}
	if b.empty, err = b.restingMemory(ctx); err != nil {
		return err
	}
	b.section.memory("nothing locked", b.empty, process.Resident{}, 0)
	for _, k := range []lockKind{
		{"HelmReleases created", "lock", "locked",
			func() (time.Duration, error) { return b.lock(ctx, w) }},
		{"operator started", "start", "locked at start",
			func() (time.Duration, error) { return b.startAll(ctx, w) }},
	} {
		if err := b.measureLock(ctx, w, k); err != nil {
			return err
		}
		b.locked = true
	}
	return nil
}

// manyWorld returns the world shared by the sections of one stage.
func (b *bench) manyWorld(ctx context.Context) (*world, error) {
	if b.many != nil {
		return b.many, nil
	}
	w, err := b.world(ctx, "many", b.Releases, b.Objects)
	b.many = w
	return w, err
}

// manyLocked is manyWorld, locked.
func (b *bench) manyLocked(ctx context.Context) (*world, error) {
	w, err := b.manyWorld(ctx)
	if err != nil || b.locked {
		return w, err
	}
	if b.empty, err = b.restingMemory(ctx); err != nil {
		return nil, err
	}
	if _, err := b.lock(ctx, w); err != nil {
		return nil, err
	}
	b.locked = true
	return w, nil
}

// measureLock measures a lock of all releases of a world: its time, its requests, and the memory afterwards.
func (b *bench) measureLock(ctx context.Context, w *world, k lockKind) error {
	progress("%s", k.what)
	took, err := b.writesOf(k.lock, k.requests, len(w.releases))
	if err != nil {
		return err
	}
	b.section.locked("lock: "+k.what+" to all Ready", took, len(w.locked))
	return b.lockedMemory(ctx, w, k.memory)
}

// lockedMemory measures the memory of the idle operator with a world locked.
func (b *bench) lockedMemory(ctx context.Context, w *world, name string) error {
	resting, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	b.section.memory(name, resting, b.empty, len(w.locked))
	return b.operator.Profile(ctx, "heap?gc=1", filepath.Join(b.profiles, name+".heap"))
}

// lockKind is a way to lock releases, with the names of its measures.
type lockKind struct {
	what, requests, memory string
	lock                   func() (time.Duration, error)
}

// startAll restarts the operator with all HelmReleases of a world, and returns the time from its start until all were
// Ready again.
func (b *bench) startAll(ctx context.Context, w *world) (time.Duration, error) {
	if err := b.operator.Stop(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.releases.forget(ctx, w.releases); err != nil {
		return 0, fmt.Errorf("empty the status of HelmReleases: %w", err)
	}
	if _, err := b.releases.wait(ctx, 0); err != nil {
		return 0, err
	}
	if err := b.operator.Start(ctx); err != nil {
		return 0, err
	}
	last, err := b.releases.wait(ctx, len(w.releases))
	return last.Sub(b.operator.Started()), err
}

// writesOf runs f and adds a note about the operator's requests during f.
func (b *bench) writesOf(f func() (time.Duration, error), name string, releases int) (time.Duration, error) {
	mark, err := b.audit.mark()
	if err != nil {
		return 0, err
	}
	took, err := f()
	if err != nil {
		return 0, err
	}
	counted, err := b.audit.since(mark, agentOperator)
	if err != nil {
		return 0, err
	}
	b.section.writes(name+": writes to objects", counted.writes())
	b.section.requests(name+" (per release)", counted, releases)
	return took, nil
}

// restingMemory waits for an idle operator and returns its least memory meanwhile: garbage collection makes the
// figure vary.
func (b *bench) restingMemory(ctx context.Context) (process.Resident, error) {
	r := process.Resident{}
	end := time.Now().Add(b.Rest)
	err := process.Poll(ctx, 50*time.Millisecond, func() (bool, error) {
		now, err := b.operator.Memory()
		if r.Now == 0 || now.Now < r.Now {
			r = now
		}
		r.Most = now.Most
		return time.Now().After(end), err
	})
	return r, err
}

// strangers measures the memory cost of Secrets and ConfigMaps of no release.
func (b *bench) strangers(ctx context.Context) error {
	if _, err := b.manyLocked(ctx); err != nil {
		return err
	}
	progress("adding %d Secrets and ConfigMaps of no release", b.Unrelated)
	before, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	const namespace = "strangers"
	if err := b.namespace(ctx, namespace); err != nil {
		return err
	}
	all := make([]int, b.Unrelated)
	for i := range all {
		all[i] = i
	}
	content := make([]byte, 2000)
	err = each(ctx, setupWidth, all, func(ctx context.Context, n int) error {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("stranger-%d", n)}
		var err error
		if n%2 == 0 {
			_, err = b.setup.kube.CoreV1().Secrets(namespace).Create(ctx,
				&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"key": content}}, metav1.CreateOptions{})
		} else {
			_, err = b.setup.kube.CoreV1().ConfigMaps(namespace).Create(ctx,
				&corev1.ConfigMap{ObjectMeta: meta, BinaryData: map[string][]byte{"key": content}},
				metav1.CreateOptions{})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add what belongs to no release: %w", err)
	}
	after, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	b.section.growth(fmt.Sprintf("%d unrelated Secrets and ConfigMaps", b.Unrelated), before, after)
	return errors.Join(b.operator.Profile(ctx, "heap?gc=1", filepath.Join(b.profiles, "end.heap")), b.floor.error())
}
