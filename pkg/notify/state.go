package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/message"
)

const (
	// saveEvery is the least time between two writes. After a kill the events of this time are sent again, with the
	// same ids.
	saveEvery = 2 * time.Second
	// saveTime bounds a write.
	saveTime = 5 * time.Second
)

// state stores the positions in the streams in a ConfigMap, from which the next process resumes.
type state struct {
	client typedcorev1.ConfigMapInterface
	name   string
	clock  clock.WithTicker
	log    logrus.FieldLogger

	mu    sync.Mutex // guards at
	at    map[string]string
	dirty chan struct{} // holds a token while a position is not stored
}

func newState(
	client typedcorev1.ConfigMapInterface, name string, by clock.WithTicker, log logrus.FieldLogger,
) *state {
	return &state{client: client, name: name, clock: by, log: log, at: map[string]string{},
		dirty: make(chan struct{}, 1)}
}

// load returns the positions by Lease.
func (s *state) load(ctx context.Context) (map[string]message.Position, error) {
	kept, err := s.client.Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("positions in the streams: %w", err)
	}
	positions := map[string]message.Position{}
	for lease, text := range kept.Data {
		at, err := message.ParsePosition(text)
		if err != nil {
			s.log.Warnf("position in the stream of %s, which is read from its beginning: %v", lease, err)
			continue
		}
		positions[lease] = at
	}
	return positions, nil
}

// reached notes a position. It never waits.
func (s *state) reached(lease string, at message.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[lease] = at.String()
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// run stores the noted positions until ctx ends, and then the last ones.
func (s *state) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-s.dirty:
			s.save(ctx)
		case <-ctx.Done():
			continue
		}
		timer := s.clock.NewTimer(saveEvery)
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
	}
	s.save(context.WithoutCancel(ctx))
}

func (s *state) save(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	s.mu.Lock()
	at := maps.Clone(s.at)
	s.mu.Unlock()
	if len(at) == 0 {
		return
	}
	if err := s.write(ctx, at); err != nil {
		s.log.Warnf("cannot keep the positions in the streams: %v", err)
		select {
		case s.dirty <- struct{}{}:
		default:
		}
	}
}

func (s *state) write(ctx context.Context, at map[string]string) error {
	patch, err := json.Marshal(map[string]any{"data": at})
	if err != nil {
		return err
	}
	_, err = s.client.Patch(ctx, s.name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = s.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Data: at},
			metav1.CreateOptions{})
	}
	return err
}
