package bucket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/evidence"
)

const (
	// Attempts are spaced out from firstRetry to lastRetry.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// endTime bounds the copying at the end. Kubernetes kills a Pod 30 s after the request to stop.
	endTime = 15 * time.Second
)

// Observer counts copies. Its methods must return at once.
type Observer interface {
	// EvidenceCopied counts an attempt to copy, of one file or to list the bucket.
	EvidenceCopied(success bool)
	// EvidenceWaiting sets the number of files that have ended and are not in the bucket, as far as it is known.
	EvidenceWaiting(files int)
}

// Copier copies the files of a directory. A file is copied when another one follows it: it gets no more lines then.
type Copier struct {
	dir      string
	store    *store
	clock    clock.WithTicker
	log      logrus.FieldLogger
	observer Observer
	wake     chan struct{}

	// The rest belongs to Run.
	stored map[string]int64 // sizes of the files in the bucket
	listed bool             // stored is as the bucket has it
	failed string           // the error of the last attempt
}

// New returns a copier. The error is that of wrong options: it connects to no server.
func New(o Options, by clock.WithTicker, log logrus.FieldLogger, observer Observer) (*Copier, error) {
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	return &Copier{dir: o.Directory, store: s, clock: by, log: log, observer: observer,
		wake: make(chan struct{}, 1)}, nil
}

// Wake has new files copied. It never waits.
func (c *Copier) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run copies until ctx ends, and then the remaining files, for some seconds at most.
func (c *Copier) Run(ctx context.Context) {
	for pause := firstRetry; ctx.Err() == nil; {
		if c.try(ctx) {
			pause = firstRetry
			select {
			case <-c.wake:
			case <-ctx.Done():
			}
			continue
		}
		timer := c.clock.NewTimer(pause/2 + rand.N(pause/2+1))
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, lastRetry)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if !c.try(last) {
		c.log.Warn("some evidence is not in the bucket: the next process copies it")
	}
}

// try copies what waits, and reports whether all of it is in the bucket.
func (c *Copier) try(ctx context.Context) bool {
	err := c.copy(ctx)
	switch {
	case err == nil && c.failed != "":
		c.log.Info("evidence is copied to the bucket again")
		c.failed = ""
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // the last attempt follows
	case err != nil:
		c.observer.EvidenceCopied(false)
		c.listed = false
		if text := err.Error(); text != c.failed {
			c.log.Errorf("evidence is not copied to the bucket, and stays on the volume until it is: %v", err)
			c.failed = text
		}
	}
	return err == nil
}

// copy stores each file that waits, the oldest first, until one fails.
func (c *Copier) copy(ctx context.Context) error {
	names, err := evidence.Files(os.DirFS(c.dir))
	if err != nil || len(names) == 0 {
		return err
	}
	defer func() { c.observer.EvidenceWaiting(len(c.waiting(names))) }()
	if !c.listed {
		c.observer.EvidenceWaiting(len(c.waiting(names)))
		if c.stored, err = c.store.list(ctx); err != nil {
			return err
		}
		c.listed = true
	}
	if err := c.compare(names); err != nil {
		return err
	}
	for _, name := range c.waiting(names) {
		size, err := c.store.put(ctx, c.dir, name)
		if err != nil {
			return err
		}
		c.stored[name] = size
		c.observer.EvidenceCopied(true)
	}
	return nil
}

// waiting returns the files that are not in the bucket. The last one has not ended.
func (c *Copier) waiting(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names[:len(names)-1]), func(name string) bool {
		_, stored := c.stored[name]
		return stored
	})
}

// compare returns an error if a file in the bucket is none of the directory: two chains cannot be told apart later, and
// what is in the bucket is not replaced. The directory may lack old files.
func (c *Copier) compare(names []string) error {
	local := map[string]string{}
	for _, name := range names {
		local[evidence.Number(name)] = name
	}
	last := names[len(names)-1]
	for _, stored := range slices.Sorted(maps.Keys(c.stored)) {
		name, known := local[evidence.Number(stored)]
		if !known && stored < last {
			continue
		}
		same := known && name == stored && name != last
		if same {
			info, err := os.Stat(filepath.Join(c.dir, name))
			if err != nil {
				return fmt.Errorf("read the evidence: %w", err)
			}
			same = info.Size() == c.stored[stored]
		}
		if !same {
			return fmt.Errorf("%s is not of this volume, or was changed: nothing is replaced; name another prefix",
				c.store.url(stored))
		}
	}
	return nil
}
