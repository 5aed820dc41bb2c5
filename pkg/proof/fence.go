package proof

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rancher/helm-locker/pkg/release"
)

// FenceSuffix ends the name of the operator's Secret for fences; the operator's name precedes it.
const FenceSuffix = "-mark"

const (
	// fenceTimeout bounds the wait for a fence. A watch that does not deliver it by then is late or broken.
	fenceTimeout = time.Second
	// fenceCooldown is the time without fences after a failed one.
	fenceCooldown = time.Minute
	// After a fence for more callers than fenceCrowd the next one begins fenceInterval later, for all waiting
	// callers: the API server is busy, and they wait for their writes anyway.
	fenceCrowd    = 3
	fenceInterval = 40 * time.Millisecond
)

// fence proves, by one write for all releases, that the view of a watch is as new as this moment: a watch delivers in
// the order of the writes. It proves as much as a list, and is faster when lists have to wait. Lists remain the
// fallback.
type fence struct {
	secrets typedcorev1.SecretInterface
	name    string
	view    View
	log     logrus.FieldLogger
	passes  *shared[struct{}, struct{}]

	mu        sync.Mutex
	notBefore time.Time // when a fence is tried again
	warned    bool
}

func newFence(o Options, work *background) *fence {
	f := &fence{secrets: o.Secrets.Secrets(o.Fence.Namespace), name: o.Fence.Name, view: o.Records, log: o.Log}
	f.passes = newShared(work, f.run)
	return f
}

// pass returns when the view has everything written before the call.
func (f *fence) pass(ctx context.Context) error {
	_, err := f.passes.get(ctx, struct{}{})
	return err
}

// usable reports whether a fence is worth a try.
func (f *fence) usable() bool {
	select {
	case <-f.view.Ended():
		return false
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !time.Now().Before(f.notBefore)
}

var (
	errUnusable = errors.New("the last fence failed")
	errNotSeen  = errors.New("the watch of release records does not show it")
)

// run carries out one fence, and waits until the next one is due.
func (f *fence) run(ctx context.Context, _ struct{}, callers int, done func(struct{}, error)) {
	if !f.usable() { // who joined while the last one failed shall not wait as long
		done(struct{}{}, errUnusable)
		return
	}
	next := time.NewTimer(fenceInterval)
	defer next.Stop()
	f.try(ctx, done)
	if callers > fenceCrowd {
		select {
		case <-next.C:
		case <-ctx.Done():
		}
	}
}

// try writes a fence and waits until the watch shows it, perhaps before the write is answered.
func (f *fence) try(ctx context.Context, done func(struct{}, error)) {
	timed, cancel := context.WithTimeoutCause(ctx, fenceTimeout, errNotSeen)
	defer cancel()
	trying, refuse := context.WithCancelCause(timed)
	defer refuse(nil)
	token, seen := f.view.Fence()
	var write sync.WaitGroup
	write.Go(func() {
		if err := f.write(trying, token); err != nil {
			refuse(err)
		}
	})
	select {
	case <-seen:
		done(struct{}{}, nil)
	case <-f.view.Ended():
		done(struct{}{}, errUnusable)
	case <-trying.Done():
		err := context.Cause(trying)
		if ctx.Err() == nil {
			f.failed(err)
		}
		done(struct{}{}, err)
	}
	write.Wait() // two writes to one Secret at once would only get in each other's way
}

// failed disables fences for fenceCooldown.
func (f *fence) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notBefore = time.Now().Add(fenceCooldown)
	if !f.warned {
		f.log.Warnf("a write to Secret %s does not show how far the watch of release records has come, so drifts in "+
			"quick succession are reverted some 0.1 s later than they could be: %v", f.name, err)
	}
	f.warned = true
}

// purpose is written beside a fence for users who find the Secret.
const purpose = "written to when release records are read in quick succession: the operator's watch of records then " +
	"shows how far it has come"

// write replaces the Secret, and creates it if it does not exist. Every write includes the labels of the watch's
// selector: a user may have removed them.
func (f *fence) write(ctx context.Context, token string) error {
	own := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        f.name,
			Labels:      map[string]string{release.OwnerLabel: release.OwnerFence},
			Annotations: map[string]string{"helm.cattle.io/purpose": purpose, release.FenceAnnotation: token},
			// An empty entry turns field ownership off for this Secret. The write is a tenth faster then.
			ManagedFields: []metav1.ManagedFieldsEntry{{}},
		},
		Type: release.SecretType,
	}
	_, err := f.secrets.Update(ctx, own, metav1.UpdateOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = f.secrets.Create(ctx, own, metav1.CreateOptions{})
	return err
}
