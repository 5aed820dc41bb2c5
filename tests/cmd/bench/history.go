package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// objectsPerHistory are the objects of a release with a history.
const objectsPerHistory = 5

// history measures whether earlier revisions of locked releases, and the size of all of them, cost memory.
func (b *bench) history(ctx context.Context) error {
	w, err := b.lockedWorld(ctx, "history", b.History, b.History*objectsPerHistory)
	if err != nil {
		return err
	}
	before, err := b.startedMemory(ctx, w)
	if err != nil {
		return err
	}
	progress("adding a history of %d revisions of %d KB to %d releases", revisions, payload, len(w.releases))
	if err := b.operator.Stop(); err != nil {
		return err
	}
	perRelease := map[types.NamespacedName][]object{}
	for i, o := range w.locked {
		rel := w.releases[i/objectsPerHistory]
		perRelease[rel] = append(perRelease[rel], o)
	}
	err = each(ctx, 4, w.releases, func(ctx context.Context, rel types.NamespacedName) error {
		for number := 1; number <= revisions && ctx.Err() == nil; number++ {
			err := b.setup.record(revision{
				release: rel, number: number, superseded: number < revisions, replace: number == 1,
				ballast: ballast(payload * 1000), objects: perRelease[rel],
			})
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	after, err := b.startedMemory(ctx, w)
	if err != nil {
		return err
	}
	b.section.plain(fmt.Sprintf("memory, %d releases of one small revision", len(w.releases)), "MiB",
		float64(before.Now)/bytesPerMiB)
	b.section.growth(fmt.Sprintf("a history of %d revisions of %d KB in each of %d releases", revisions, payload,
		len(w.releases)), before, after)
	b.section.plain("memory at most, with that history", "MiB", float64(after.Most)/bytesPerMiB)
	return nil
}

// startedMemory restarts the operator and returns its memory when it has locked everything and is idle.
func (b *bench) startedMemory(ctx context.Context, w *world) (process.Resident, error) {
	if _, err := b.startAll(ctx, w); err != nil {
		return process.Resident{}, err
	}
	return b.restingMemory(ctx)
}

// ballast returns n incompressible bytes.
func ballast(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), uint64(time.Now().UnixNano())))
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	return content
}
