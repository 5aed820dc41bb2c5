package enforce

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

// MarkSuffix ends the name of the Secret that the operator writes marks to; the operator's name comes before it.
const MarkSuffix = "-mark"

// View is what a watch knows of the records of all releases.
type View interface {
	// Mark returns a new mark, and a channel that is closed when the watch, after the mark was written to the
	// annotation release.MarkAnnotation of the Secret for marks, has delivered it: the view then has everything
	// that was written before the mark was. No other mark is waited for at the same time.
	Mark() (mark string, seen <-chan struct{})
	// Current returns the newest record of a release, false when there is none, an error when that cannot be told.
	Current(release.Key) (release.Record, bool, error)
	// Ended is closed when nothing will be delivered any more.
	Ended() <-chan struct{}
}

const (
	// cachePatience is for how long after one consistent list of a resource an API server makes the next one wait,
	// if nothing of the resource is written meanwhile. The list is answered from a cache that first has to know
	// that it is as new as etcd, and the API server asks etcd about that at most so often (progressRequestPeriod,
	// 100 ms); some leeway is added.
	cachePatience = 120 * time.Millisecond
	// fewUnderWay is how many checks and writes may be under way for a mark to be written at once. With more of
	// them the API server has enough to do: there are marks only, no lists, and markPace is how long after the mark
	// before the next one comes, for all who wait by then.
	fewUnderWay = 3
	markPace    = 40 * time.Millisecond
	// markPatience is how long a mark is waited for. A watch that does not deliver it by then is behind or broken.
	markPatience = time.Second
	// markRest is how long no mark is tried after one that failed.
	markRest = time.Minute
)

// marker tells, with one write for all releases, when the view of a watch is as new as this moment. That is as good
// as a list of the records of one release, and sooner where lists would wait. When it fails there still are the
// lists.
type marker struct {
	client typedcorev1.SecretInterface // nil where no marks are written
	name   string
	view   View
	work   *background
	log    logrus.FieldLogger
	// busy says how many checks and writes are under way.
	busy func() int
	// always is set where marks are tried in place of all lists (Clients.ListsReadStorage).
	always bool

	mu        sync.Mutex
	marks     shared[struct{}]
	lastList  time.Time // when the last list began, of any release
	lastMark  time.Time
	notBefore time.Time // when a mark is tried again
	warned    bool
}

// better reports whether a mark is to be tried in place of a list that would begin now: because a list is always
// worse, because it would wait, or because so much is under way that others wait for a mark anyway, and a list
// would answer for one release alone.
func (m *marker) better() bool {
	if m.client == nil || m.ended() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return (m.always || time.Since(m.lastList) < cachePatience || m.busy() > fewUnderWay) && !m.rests()
}

func (m *marker) ended() bool {
	select {
	case <-m.view.Ended():
		return true
	default:
		return false
	}
}

// rests is called with m.mu held.
func (m *marker) rests() bool { return time.Now().Before(m.notBefore) }

// listing says that a list begins.
func (m *marker) listing() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastList = time.Now()
}

// reach returns when the view has everything that was written before the call.
func (m *marker) reach(ctx context.Context) error {
	m.mu.Lock()
	turn, lead := m.marks.join()
	m.mu.Unlock()
	if lead {
		// A mark serves others too, so it must not end when who asked first gives up.
		m.work.Go(func(ctx context.Context) { m.lead(ctx, turn) })
	}
	_, err := turn.wait(ctx)
	return err
}

var (
	errResting = errors.New("the last mark was of no use")
	errNotSeen = errors.New("the watch of release records does not show it")
)

// lead carries out a turn, and then the next one as long as anybody joins it.
func (m *marker) lead(ctx context.Context, t *turn[struct{}]) {
	for t != nil {
		if m.busy() > fewUnderWay {
			m.pause(ctx)
		}
		m.mu.Lock()
		m.marks.begin()
		m.lastMark = time.Now()
		rests := m.rests()
		m.mu.Unlock()

		if rests { // who joined this turn while the one before failed shall not wait as long
			t.end(struct{}{}, errResting)
		} else {
			answered, err := m.mark(ctx)
			t.end(struct{}{}, err)
			<-answered // two writes to one Secret at once would only get in each other's way
		}
		m.mu.Lock()
		t = m.marks.advance()
		m.mu.Unlock()
	}
}

// pause waits until another mark is due.
func (m *marker) pause(ctx context.Context) {
	m.mu.Lock()
	early := time.Until(m.lastMark.Add(markPace))
	m.mu.Unlock()
	due := time.NewTimer(early)
	defer due.Stop()
	select {
	case <-due.C:
	case <-ctx.Done():
	}
}

// mark writes a mark and waits until the watch shows it, perhaps before the write is answered. answered is closed
// when it is.
func (m *marker) mark(ctx context.Context) (answered <-chan struct{}, err error) {
	mark, seen := m.view.Mark()
	end, refused := make(chan struct{}), make(chan error, 1)
	m.work.Go(func(ctx context.Context) {
		defer close(end)
		ctx, cancel := context.WithTimeout(ctx, markPatience)
		defer cancel()
		if err := m.write(ctx, mark); err != nil {
			refused <- err
		}
	})
	patience := time.NewTimer(markPatience)
	defer patience.Stop()
	select {
	case <-seen:
		return end, nil
	case <-m.view.Ended():
		return end, errNotSeen
	case <-ctx.Done():
		return end, ctx.Err()
	case err = <-refused:
	case <-patience.C:
		err = errNotSeen
	}
	m.failed(ctx, err)
	return end, err
}

// failed keeps marks from being tried for a while.
func (m *marker) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // nothing is wrong with marks
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notBefore = time.Now().Add(markRest)
	if !m.warned {
		m.log.Warnf(
			"a mark in Secret %s is of no use, so drifts in quick succession are reverted some 0.1 s later than they "+
				"could be: %v", m.name, err,
		)
	}
	m.warned = true
}

// purpose is written beside a mark for whoever comes across the Secret.
const purpose = "written to when release records are read in quick succession: the operator's watch of records then " +
	"shows how far it has come"

// write replaces the Secret, and makes it if there is none. What the watch selects by comes with every mark, as
// somebody may have removed it.
func (m *marker) write(ctx context.Context, mark string) error {
	own := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        m.name,
			Labels:      map[string]string{release.OwnerLabel: release.OwnerMark},
			Annotations: map[string]string{"helm.cattle.io/purpose": purpose, release.MarkAnnotation: mark},
			// Nobody needs to know who owns a field of this Secret, and an API server that does not have to keep
			// account of it, as the empty entry tells it, is a tenth faster. So it is again with an object in place
			// of a patch of it.
			ManagedFields: []metav1.ManagedFieldsEntry{{}},
		},
		Type: release.SecretType,
	}
	_, err := m.client.Update(ctx, own, metav1.UpdateOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = m.client.Create(ctx, own, metav1.CreateOptions{})
	return err
}
