package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// world is a set of releases, and as many objects for the floor.
type world struct {
	releases      []types.NamespacedName
	locked, floor []object
	// noFloor is set for a world without objects for the floor.
	noFloor bool
}

// releasesPerNamespace spreads releases as clusters do.
const releasesPerNamespace = 20

// world creates releases with a total of objects, spread evenly, and the same objects for the floor. It locks
// nothing.
func (b *bench) world(ctx context.Context, name string, releases, total int) (*world, error) {
	w := &world{}
	return w, b.grow(ctx, w, name, releases, total)
}

// lockedWorld is world, and locks the releases.
func (b *bench) lockedWorld(ctx context.Context, name string, releases, total int) (*world, error) {
	w, err := b.world(ctx, name, releases, total)
	if err == nil {
		_, err = b.lock(ctx, w)
	}
	return w, err
}

// grow adds releases to a world, up to the given number of releases and objects.
func (b *bench) grow(ctx context.Context, w *world, name string, releases, total int) error {
	begin, has := len(w.releases), len(w.locked)
	progress("setting up %s: %d objects in %d releases", name, total-has, releases-begin)
	perRelease := map[types.NamespacedName][]object{}
	made, floor := len(w.locked), len(w.floor)
	for i := begin; i < releases; i++ {
		n := (total - len(w.locked)) / (releases - i)
		rel := types.NamespacedName{Namespace: fmt.Sprintf("%s-%d", name, i/releasesPerNamespace),
			Name: fmt.Sprintf("%s-%d", name, i)}
		floors := fmt.Sprintf("%s-floor-%d", name, i/releasesPerNamespace)
		if i == begin || i%releasesPerNamespace == 0 {
			for _, namespace := range []string{rel.Namespace, floors} {
				if err := b.namespace(ctx, namespace); err != nil {
					return err
				}
			}
		}
		perRelease[rel] = objects(rel.Namespace, rel.Name, rel.Name, n)
		w.releases = append(w.releases, rel)
		w.locked = append(w.locked, perRelease[rel]...)
		if !w.noFloor {
			w.floor = append(w.floor, objects(floors, "", rel.Name, n)...)
		}
	}
	for manager, side := range map[string][]object{"helm": w.locked[made:], "floor": w.floor[floor:]} {
		marked := b.observer.mark(side...)
		err := each(ctx, setupWidth, side, func(ctx context.Context, o object) error {
			return b.setup.create(ctx, o, manager)
		})
		if err != nil {
			return fmt.Errorf("set objects up: %w", err)
		}
		if err := b.allRestored(ctx, marked); err != nil {
			return err
		}
	}
	err := each(ctx, setupWidth, w.releases[begin:], func(_ context.Context, rel types.NamespacedName) error {
		return b.setup.record(revision{release: rel, number: 1, objects: perRelease[rel]})
	})
	if err != nil {
		return err
	}
	return b.floor.protect(w.floor[floor:])
}

// allRestored waits until the objects are as declared, and fails otherwise.
func (b *bench) allRestored(ctx context.Context, marked map[object]uint64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	times, err := b.observer.restored(ctx, marked)
	if err != nil {
		return err
	}
	for o := range marked {
		if _, ok := times[o]; !ok {
			return errors.Join(fmt.Errorf("%s %s/%s is not as declared after %s", o.resource(), o.namespace, o.name,
				patience), b.floor.error())
		}
	}
	return nil
}

// lock locks the releases of a world and returns the time until all were Ready.
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

// unlock unlocks the releases of a world.
func (b *bench) unlock(ctx context.Context, w *world) error {
	if err := b.releases.unlock(ctx, w.releases); err != nil {
		return fmt.Errorf("delete HelmReleases: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := b.releases.wait(ctx, 0)
	return err
}
