package notify

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rancher/helm-locker/pkg/message"
)

// item is a message in a queue. Its id is the same for all receivers and attempts, so a receiver can detect a second
// copy.
type item struct {
	event
	at time.Time // when it was put into the queue
	// tally is set for the message about the losses of this queue.
	tally bool
}

// queue holds the waiting messages of one receiver. The namespaces of the releases take turns, so a namespace with many
// messages delays no other. Within a namespace, the oldest message comes first. A full queue drops the oldest message
// of the namespace with most.
type queue struct {
	length   int
	observer Observer

	mu    sync.Mutex
	items map[string][]*item // by namespace, the oldest first
	turns []string           // the namespaces that have items, the one whose turn it is first
	count int                // of all items

	closed bool
	lost   message.Lost  // too old or pushed out, since the last report to the receiver
	wake   chan struct{} // holds one token when there may be something to do
}

func newQueue(length int, observer Observer) *queue {
	return &queue{length: length, observer: observer, items: map[string][]*item{}, wake: make(chan struct{}, 1)}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// put adds a message. It reports whether the queue dropped one, the first loss since the last report to the receiver.
func (q *queue) put(i *item) (overflow bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.observer.Notified(ResultDropped)
		return false
	}
	namespace := ""
	if i.Release != nil {
		namespace = i.Release.Namespace
	}
	if len(q.items[namespace]) == 0 {
		q.turns = append(q.turns, namespace)
	}
	q.items[namespace] = append(q.items[namespace], i)
	q.count++
	q.observer.NotifyWaiting(1)
	if q.count > q.length {
		q.shift(q.longest())
		overflow = q.lose(ResultDropped, i.at)
	}
	q.signal()
	return overflow
}

// lose counts a lost message. q.mu is held.
func (q *queue) lose(result string, now time.Time) (first bool) {
	q.observer.Notified(result)
	if first = q.lost.Count == 0; first {
		q.lost.Since = now.UTC()
	}
	q.lost.Count++
	return first
}

// loseTaken counts a message that was taken and not sent.
func (q *queue) loseTaken(result string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lose(result, now)
}

// take waits for the next message. After losses, a message with their number comes first. It returns nil when the queue
// is closed and empty, or ctx ends.
func (q *queue) take(ctx context.Context, now func() time.Time) *item {
	for ctx.Err() == nil {
		if i, done := q.next(now()); i != nil || done {
			return i
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

func (q *queue) next(now time.Time) (i *item, done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	switch {
	case q.lost.Count > 0 && q.count > 0:
		lost := q.lost
		m := &message.Message{Type: message.MessagesWereLost, Time: now, Lost: &lost}
		e := event{Event: message.Event{ID: string(uuid.NewUUID()), Message: m}}
		return &item{event: e, at: now, tally: true}, false
	case q.count > 0:
		namespaces := len(q.turns)
		i = q.shift(0)
		if len(q.turns) == namespaces { // it has more messages, which wait for its next turn
			q.turns = append(q.turns[1:], q.turns[0])
		}
		return i, false
	}
	return nil, q.closed
}

// longest returns the place in turns of the namespace with most messages. q.mu is held.
func (q *queue) longest() (place int) {
	for i, namespace := range q.turns {
		if len(q.items[namespace]) > len(q.items[q.turns[place]]) {
			place = i
		}
	}
	return place
}

// shift takes the oldest message of a namespace out, by its place in turns. q.mu is held.
func (q *queue) shift(place int) *item {
	namespace := q.turns[place]
	items := q.items[namespace]
	i := items[0]
	items[0] = nil // the array keeps it alive otherwise
	if items = items[1:]; len(items) > 0 {
		q.items[namespace] = items
	} else {
		delete(q.items, namespace)
		q.turns = slices.Delete(q.turns, place, place+1)
	}
	q.count--
	q.observer.NotifyWaiting(-1)
	return i
}

// expire takes out what is not worth sending any more. q.mu is held.
func (q *queue) expire(now time.Time) {
	for place := 0; place < len(q.turns); {
		if now.Sub(q.items[q.turns[place]][0].at) <= maxAge {
			place++
			continue
		}
		q.shift(place)
		q.lose(ResultExpired, now)
	}
}

// allLost returns the losses until now. They can grow while a message about them waits for the receiver.
func (q *queue) allLost(now time.Time) message.Lost {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	return q.lost
}

// reported subtracts the losses that were reported to the receiver.
func (q *queue) reported(known *message.Lost, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = message.Lost{Count: q.lost.Count - known.Count, Since: now.UTC()}
}

// close makes take return nil once the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// abandon empties the queue and returns the number of dropped messages.
func (q *queue) abandon() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.count
	for range n {
		q.observer.Notified(ResultDropped)
	}
	q.observer.NotifyWaiting(-n)
	q.items, q.turns, q.count = map[string][]*item{}, nil, 0
	return n
}
