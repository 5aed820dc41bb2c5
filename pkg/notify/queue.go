package notify

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// item is a message in a queue. Its id is the same for all receivers and attempts, so that one that gets it twice
// can tell.
type item struct {
	*Message
	id string
	at time.Time // when it was put into the queue
}

func newItem(m *Message, now time.Time) *item {
	return &item{Message: m, id: string(uuid.NewUUID()), at: now}
}

// queue holds the messages that wait for one receiver, the oldest first. Beyond its length the oldest go.
type queue struct {
	length   int
	observer Observer

	mu     sync.Mutex
	items  []*item
	closed bool
	lost   Lost          // too old or pushed out, since the receiver was last told
	wake   chan struct{} // holds one token when there may be something to do
}

func newQueue(length int, observer Observer) *queue {
	return &queue{length: length, observer: observer, wake: make(chan struct{}, 1)}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// put adds a message and reports whether that is the first loss of an older one since the receiver was told.
func (q *queue) put(i *item) (overflow bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.observer.Notified(ResultDropped)
		return false
	}
	q.items = append(q.items, i)
	q.observer.NotifyWaiting(1)
	if len(q.items) > q.length {
		q.shift()
		overflow = q.lose(ResultDropped, i.at)
	}
	q.signal()
	return overflow
}

// lose counts a message that the receiver will not get. q.mu is held.
func (q *queue) lose(result string, now time.Time) (first bool) {
	q.observer.Notified(result)
	if first = q.lost.Count == 0; first {
		q.lost.Since = now.UTC()
	}
	q.lost.Count++
	return first
}

// gaveUp counts a message that was taken and not sent.
func (q *queue) gaveUp(result string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lose(result, now)
}

// take waits for the next message. When older ones were lost, a message that says so comes first. It returns nil
// when the queue is closed and empty, or ctx ends.
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
	case q.lost.Count > 0 && len(q.items) > 0:
		lost := q.lost
		return newItem(&Message{Type: MessagesWereLost, Time: now, Lost: &lost}, now), false
	case len(q.items) > 0:
		return q.shift(), false
	}
	return nil, q.closed
}

// shift takes the oldest message out. q.mu is held.
func (q *queue) shift() *item {
	i := q.items[0]
	q.items[0] = nil // the array keeps it alive otherwise
	q.items = q.items[1:]
	q.observer.NotifyWaiting(-1)
	return i
}

// expire takes out what is not worth sending any more. q.mu is held.
func (q *queue) expire(now time.Time) {
	for len(q.items) > 0 && now.Sub(q.items[0].at) > maxAge {
		q.shift()
		q.lose(ResultExpired, now)
	}
}

// allLost returns what is lost by now: while a message about it waits for the receiver, there may be more.
func (q *queue) allLost(now time.Time) Lost {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	return q.lost
}

// told takes off what the receiver now knows to be lost.
func (q *queue) told(known *Lost, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = Lost{Count: q.lost.Count - known.Count, Since: now.UTC()}
}

// close lets take return nil once the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// abandon empties the queue and returns how many messages were in it.
func (q *queue) abandon() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.items)
	for range n {
		q.observer.Notified(ResultDropped)
	}
	q.observer.NotifyWaiting(-n)
	q.items = nil
	return n
}
