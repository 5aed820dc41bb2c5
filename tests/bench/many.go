package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// idle starts the operator for the first time, with nothing to lock.
func (b *bench) idle(ctx context.Context) error {
	if err := b.operator.start(ctx); err != nil {
		return err
	}
	var err error
	b.releases, err = newReadiness(ctx, b.setup, operatorNamespace)
	return err
}

// many measures what it costs to have many objects locked: time, memory, processor time, and a storm over all of them.
// It does so in a new process, so that what came before is not counted.
func (b *bench) many(ctx context.Context) error {
	w, err := b.world(ctx, "many", b.options.releases, b.objects)
	if err != nil {
		return err
	}
	if err := b.operator.stop(); err != nil {
		return err
	}
	if err := b.operator.start(ctx); err != nil {
		return err
	}
	empty, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	b.result.memory("nothing locked", empty, 0, b.objects)
	for _, step := range []func(context.Context, *world) error{
		b.lockAll, b.restart,
		func(ctx context.Context, w *world) error {
			return b.stormTurns(ctx, "storm, release by release", w, false)
		},
		func(ctx context.Context, w *world) error {
			return b.stormTurns(ctx, "storm, all releases at once", w, true)
		},
		b.churn, b.strangers,
	} {
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// lockAll measures the creation of all HelmReleases.
func (b *bench) lockAll(ctx context.Context, w *world) error {
	b.progress("locking")
	took, err := b.writesOf(func() (time.Duration, error) { return b.lock(ctx, w) }, "lock", len(w.releases))
	if err != nil {
		return err
	}
	b.result.locked("lock: HelmReleases created to all Ready", took)
	resting, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	b.result.memory("locked", resting, b.objects, b.objects)
	return b.operator.profile(ctx, "heap?gc=1", filepath.Join(b.profiles, "locked.heap"))
}

// restart measures the start of an operator with all HelmReleases in place.
func (b *bench) restart(ctx context.Context, w *world) error {
	b.progress("restarting the operator")
	if err := b.operator.stop(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.releases.forget(ctx, w.releases); err != nil {
		return fmt.Errorf("empty the status of HelmReleases: %w", err)
	}
	if _, err := b.releases.wait(ctx, 0); err != nil {
		return err
	}
	took, err := b.writesOf(func() (time.Duration, error) {
		if err := b.operator.start(ctx); err != nil {
			return 0, err
		}
		last, err := b.releases.wait(ctx, len(w.releases))
		return last.Sub(b.operator.started), err
	}, "start", len(w.releases))
	if err != nil {
		return err
	}
	b.result.locked("lock: operator started to all Ready", took)
	resting, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	b.result.memory("locked at start", resting, b.objects, b.objects)
	return nil
}

// writesOf runs f and reports what it made the operator ask of the API server.
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
	b.result.writes(name+": writes to objects", counted.writes())
	b.result.requests(name+" (per release)", counted, releases)
	return took, nil
}

// restingMemory lets the operator rest and returns the least memory that it held meanwhile; garbage collections make it
// go up and down.
func (b *bench) restingMemory(ctx context.Context) (resident, error) {
	r := resident{}
	end := time.Now().Add(b.rest)
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		now, err := b.operator.memory()
		if r.now == 0 || now.now < r.now {
			r = now
		}
		r.most = now.most
		return time.Now().After(end), err
	})
	return r, err
}

// strangers measures whether Secrets and ConfigMaps of nobody cost memory.
func (b *bench) strangers(ctx context.Context, _ *world) error {
	b.progress("adding %d Secrets and ConfigMaps of no release", b.unrelated)
	before, err := b.restingMemory(ctx)
	if err != nil {
		return err
	}
	const namespace = "strangers"
	if err := b.namespace(ctx, namespace); err != nil {
		return err
	}
	all := make([]int, b.unrelated)
	for i := range all {
		all[i] = i
	}
	content := make([]byte, 2000)
	err = each(ctx, setupWidth, all, func(ctx context.Context, n int) error {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("stranger-%d", n)}
		var err error
		if n%2 == 0 {
			_, err = b.setup.kube.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"key": content}}, metav1.CreateOptions{})
		} else {
			_, err = b.setup.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, BinaryData: map[string][]byte{"key": content}}, metav1.CreateOptions{})
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
	b.result.growth(before, after, b.unrelated)
	return errors.Join(b.operator.profile(ctx, "heap?gc=1", filepath.Join(b.profiles, "end.heap")), b.floor.error())
}
