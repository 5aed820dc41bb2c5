package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/process"
)

const (
	guardObjects = 40  // of each of the two releases
	guardRate    = 500 // allowed writes per second
	// timesGuard is how many times more writes than single drifts are measured: they are quick, and a p99 wants many.
	timesGuard = 5
)

// guard measures the guard's share of the latency of writes. The same write goes alternately to an object of a
// release without a guard and to one of a release with a guard; both are locked.
func (b *bench) guard(ctx context.Context) error {
	if err := b.serveGuard(ctx); err != nil {
		return err
	}
	plain, err := b.world(ctx, "plain", 1, guardObjects)
	if err != nil {
		return err
	}
	guarded, err := b.world(ctx, "guarded", 1, guardObjects)
	if err != nil {
		return err
	}
	both := &world{releases: slices.Concat(plain.releases, guarded.releases)}
	if _, err := b.lock(ctx, both); err != nil {
		return err
	}
	sides := [2][]object{plain.locked, guarded.locked}
	if err := b.guardInForce(ctx, guarded, "Deny", apierrors.IsForbidden); err != nil {
		return err
	}
	others, err := b.unmanaged(ctx, sides)
	if err != nil {
		return err
	}
	if err := errors.Join(b.allowedWrites(ctx, sides, "allowed write"), b.unguardedWrites(ctx, others),
		b.refusedWrites(ctx, sides), b.guardProcessor(ctx, sides)); err != nil {
		return err
	}
	if err := b.guardInForce(ctx, guarded, "Observe", func(err error) bool { return err == nil }); err != nil {
		return err
	}
	if err := b.allowedWrites(ctx, sides, "observed write"); err != nil {
		return err
	}
	return b.unlock(ctx, both)
}

// serveGuard restarts the operator with an address for the API server, and with more flags.
func (b *bench) serveGuard(ctx context.Context, flags ...string) error {
	address, err := process.FreeAddress()
	if err != nil {
		return err
	}
	if err := b.operator.Stop(); err != nil {
		return err
	}
	b.operator = b.newProgram(b.operator.Log,
		append(flags, "--guard-address", address, "--guard-url", "https://"+address)...)
	if b.operator.Metrics, err = process.FreeAddress(); err != nil {
		return err
	}
	return b.operator.Start(ctx)
}

// guardInForce sets the guard of the release of a world, and returns once a change gets the wanted answer.
func (b *bench) guardInForce(ctx context.Context, w *world, guard string, wanted func(error) bool) error {
	_, err := b.releases.helmReleases().Patch(ctx, w.releases[0].Name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"guard":%q}}`, guard), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("turn the guard on: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return process.Poll(ctx, 100*time.Millisecond, func() (bool, error) {
		err := b.drift(ctx, w.locked[0])
		if wanted(err) {
			return true, nil
		}
		if apierrors.IsForbidden(err) { // by the guard of before
			return false, nil
		}
		return false, err
	})
}

// unmanaged creates a ConfigMap and a Deployment of no release beside the objects of either side.
func (b *bench) unmanaged(ctx context.Context, sides [2][]object) (others [2][]object, err error) {
	for i, locked := range sides {
		others[i] = objects(locked[0].namespace, "", "unmanaged", 2)
		for _, o := range others[i] {
			if err := b.setup.create(ctx, o, "bench"); err != nil {
				return others, fmt.Errorf("set objects up: %w", err)
			}
		}
	}
	return others, nil
}

// annotate writes to an object without drift.
func (b *bench) annotate(ctx context.Context, o object) error {
	return b.tamper.patch(ctx, o, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"bench.example/note":%q}}}`, b.nextForeign()))
}

// allowedWrites measures writes that the guard lets pass, under a name.
func (b *bench) allowedWrites(ctx context.Context, sides [2][]object, name string) error {
	asked, err := b.annotateBoth(ctx, sides, name)
	if err != nil {
		return err
	}
	b.section.plain(name+", questions to the guard per write", "", asked.count/float64(timesGuard*b.Rounds+warmUp))
	b.section.plain(name+", of it the guard's decision, mean", "ms", 1000*asked.seconds/asked.count)
	return nil
}

// annotateBoth measures writes without drift, under a name, and returns the guard's decisions about them.
func (b *bench) annotateBoth(ctx context.Context, sides [2][]object, name string) (d decisions, err error) {
	before, err := b.guardDecisions(ctx, "allowed")
	if err != nil {
		return d, err
	}
	annotations := turns{name: name, rounds: timesGuard * b.Rounds, tamper: b.annotate}
	if err := b.writeBoth(ctx, sides, annotations); err != nil {
		return d, err
	}
	after, err := b.guardDecisions(ctx, "allowed")
	return decisions{after.count - before.count, after.seconds - before.seconds}, err
}

// unguardedWrites writes to unguarded objects of guarded kinds: in a guarded namespace, and in another one.
func (b *bench) unguardedWrites(ctx context.Context, others [2][]object) error {
	const name = "write of an unguarded object of the same kind"
	asked, err := b.annotateBoth(ctx, others, name)
	if err != nil {
		return err
	}
	b.section.plain(name+", questions to the guard", "", asked.count).want(asked.count == 0, "0")
	return nil
}

// refusedWrites are reverted where there is no guard, and refused where there is one.
func (b *bench) refusedWrites(ctx context.Context, sides [2][]object) error {
	tamper := func(ctx context.Context, o object) error {
		err := b.drift(ctx, o)
		switch guarded := o.namespace == sides[1][0].namespace; {
		case guarded && err == nil:
			return fmt.Errorf("a change of %s was not refused", o.name)
		case guarded && apierrors.IsForbidden(err):
			return nil
		}
		return err
	}
	return b.writeBoth(ctx, sides, turns{name: "refused write", rounds: b.Rounds, gap: alone, tamper: tamper})
}

// writeBoth measures a write to objects of both sides by turns.
func (b *bench) writeBoth(ctx context.Context, sides [2][]object, t turns) error {
	progress("%s: %d rounds", t.name, t.rounds)
	write := func(which, round int) (time.Duration, error) {
		begun := time.Now()
		err := t.tamper(ctx, sides[which][round%len(sides[which])])
		return time.Since(begun), err
	}
	times, err := alternate(ctx, t.rounds, t.gap, write)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	b.section.guard(t.name, times)
	return nil
}

// guardProcessor measures the operator's processor time while objects are written all the time, without the guard and
// with it.
func (b *bench) guardProcessor(ctx context.Context, sides [2][]object) error {
	var shares [2]float64
	var achieved float64
	for which, side := range sides {
		name := [...]string{"unguarded", "guarded"}[which]
		progress("%s writes: %d per second for %s", name, guardRate, b.ChurnTime)
		rate, share, err := b.processorAt(ctx, name, guardRate, func(ctx context.Context, n int) error {
			return b.annotate(ctx, side[n%len(side)])
		})
		if err != nil {
			return err
		}
		achieved, shares[which] = rate, share*max(1, guardRate/rate)
	}
	b.section.guardProcessor(guardRate, achieved, shares)
	return nil
}

// decisions is the number of the guard's answers, and their total duration.
type decisions struct{ count, seconds float64 }

// guardDecisions reads from the operator's metrics how often the guard gave an answer.
func (b *bench) guardDecisions(ctx context.Context, answer string) (d decisions, err error) {
	text, err := process.Get(ctx, "http://"+b.operator.Metrics+"/metrics")
	if err != nil {
		return d, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return d, fmt.Errorf("metrics: %w", err)
	}
	for _, m := range families["helm_locker_guard_duration_seconds"].GetMetric() {
		if m.GetLabel()[0].GetValue() == answer {
			d = decisions{float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()}
		}
	}
	return d, nil
}
