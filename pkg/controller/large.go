package controller

// largeManifest is from how many bytes on a manifest is parsed alone. A decoded one takes up to a hundred times as much
// memory as its text.
const largeManifest = 512 << 10

// queue lets one worker at a time have a large payload or manifest in memory: a dozen bombs at once must not be a dozen times
// the memory of one. What is small passes by.
type queue chan struct{}

// turn is one worker's stay in the queue. It is not safe for concurrent use.
type turn struct {
	queue queue
	taken bool
}

// wait returns the turn of a worker, which has not begun yet.
func (q queue) wait() *turn { return &turn{queue: q} }

// take begins the turn, as soon as no other worker has its own, unless it has begun.
func (t *turn) take() {
	if !t.taken {
		t.queue <- struct{}{}
		t.taken = true
	}
}

// end ends the turn if it has begun.
func (t *turn) end() {
	if t.taken {
		<-t.queue
		t.taken = false
	}
}
