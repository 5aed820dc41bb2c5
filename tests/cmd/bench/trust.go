package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	trustObjects = 100 // of the release whose records are judged
	trustName    = "record of 100 objects"
)

// unasked stores records as Secrets that are none of Helm's, about which the API server does not ask the operator.
type unasked struct{ typedcorev1.SecretInterface }

func (u unasked) Create(ctx context.Context, s *corev1.Secret, o metav1.CreateOptions) (*corev1.Secret, error) {
	s.Type, s.Labels, s.Name = corev1.SecretTypeOpaque, nil, "unasked."+s.Name
	return u.SecretInterface.Create(ctx, s, o)
}

// trust measures the share of the judgement in the time of storing a record. Each record declares another label for
// every object of the release, so that the operator asks for the writer's right to patch each. The same Secret is
// stored alternately as a record and as a Secret that is none.
func (b *bench) trust(ctx context.Context) error {
	if err := b.serveGuard(ctx, "--trust-records", "Witnessed"); err != nil {
		return err
	}
	w, err := b.lockedWorld(ctx, "trust", 1, trustObjects)
	if err != nil {
		return err
	}
	number, err := b.witnessed(ctx, w)
	if err != nil {
		return err
	}
	if err := b.recordBoth(ctx, w, number); err != nil {
		return err
	}
	return b.unlock(ctx, w)
}

// witnessed stores revisions until one was judged, and returns its number. Then the API server asks the operator.
func (b *bench) witnessed(ctx context.Context, w *world) (number int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for number = 2; ; number++ {
		if err := b.deploy(ctx, w, number); err != nil {
			return 0, err
		}
		judged, err := b.guardDecisions(ctx, "witnessed")
		if err != nil || judged.count > 0 {
			return number, err
		}
	}
}

// deploy stores a revision, and returns when the operator has locked it.
func (b *bench) deploy(ctx context.Context, w *world, number int) error {
	err := b.setup.record(revision{release: w.releases[0], number: number, objects: w.locked, labelled: true})
	if err != nil {
		return err
	}
	return b.releases.waitRevision(ctx, w.releases[0].Name, number)
}

// recordBoth stores revisions after the given one, each twice.
func (b *bench) recordBoth(ctx context.Context, w *world, number int) error {
	progress("%s: %d rounds", trustName, b.Rounds)
	record := func(which, round int) (time.Duration, error) {
		r := revision{release: w.releases[0], number: number + 1 + round, objects: w.locked, labelled: true}
		r.unasked = which == 0
		begun := time.Now()
		err := b.setup.record(r)
		took := time.Since(begun)
		if err == nil && !r.unasked {
			err = b.releases.waitRevision(ctx, w.releases[0].Name, r.number)
		}
		return took, err
	}
	times, err := alternate(ctx, b.Rounds, 0, record)
	if err != nil {
		return fmt.Errorf("%s: %w", trustName, err)
	}
	b.section.trust(trustName, times)
	return nil
}
