package page

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

const (
	// beatEvery is the interval of beats. A browser notices a dead connection by their absence.
	beatEvery = 10 * time.Second
	// pause is the time for which further changes are gathered after a batch. A storm costs a viewer four batches in a
	// second.
	pause = 250 * time.Millisecond
)

// listener holds the pending changes of one stream. Page.mu guards it.
type listener struct {
	// by is the name of the viewer, empty without a viewer.Reviewer.
	by string
	// ended is closed when the stream has to make room for one of another viewer.
	ended chan struct{}
	// all requests a list of all HelmReleases, changed the rows of these keys, drifted the time line, operator the
	// state of the operators.
	all, drifted bool
	changed      map[string]bool
	operator     bool
	// wake holds a token while changes are pending.
	wake chan struct{}
}

// join adds a stream of a viewer, with everything pending. It returns nil when there are too many.
func (p *Page) join(by string) *listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.viewers) >= maxStreams {
		leaves := p.crowding(by)
		if leaves == nil {
			return nil
		}
		delete(p.viewers, leaves)
		close(leaves.ended)
	}
	v := &listener{by: by, ended: make(chan struct{}), all: true, operator: true, changed: map[string]bool{},
		wake: make(chan struct{}, 1)}
	v.wake <- struct{}{}
	p.viewers[v] = struct{}{}
	if p.board == nil {
		p.board = newBoard()
	}
	return v
}

// crowding returns a stream to close in favour of one more stream of a viewer, or nil. The stream belongs to the viewer
// with the most streams. That viewer must still have at least as many as the other one afterwards. p.mu is held.
func (p *Page) crowding(by string) (leaves *listener) {
	streams := map[string]int{}
	for v := range p.viewers {
		streams[v.by]++
	}
	for v := range p.viewers {
		if streams[v.by] > streams[by]+1 && (leaves == nil || streams[v.by] > streams[leaves.by]) {
			leaves = v
		}
	}
	return leaves
}

func (p *Page) leave(v *listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.viewers, v); len(p.viewers) == 0 {
		p.board = nil
	}
}

// full reports whether there is no room for one more stream of a viewer.
func (p *Page) full(by string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.viewers) >= maxStreams && p.crowding(by) == nil
}

func (p *Page) eachViewer(update func(*listener)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for v := range p.viewers {
		update(v)
		select {
		case v.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// due holds the changes to send to a viewer.
type due struct {
	all, drifted, operator bool
	changed                map[string]bool
}

func (p *Page) take(v *listener) due {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := due{v.all, v.drifted, v.operator, v.changed}
	v.all, v.drifted, v.operator, v.changed = false, false, false, map[string]bool{}
	return d
}

// events serves the stream of server-sent events. "operator" carries the state of the operators and of the page,
// "release" the current row of a HelmRelease, "gone" the key of a deleted one, and "drift" new entries of the time
// line. "chart" carries the drift of the last day, with a beat at most. A stream begins with all HelmReleases and
// "listed"; the changes follow.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	const tooMany = "too many viewers"
	by, refused := p.mayList(r)
	if refused != nil {
		refused.Write(w)
		return
	}
	if r.Method == http.MethodHead { // which is how the page learns why it gets no stream
		if p.full(by.Name()) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	v := p.join(by.Name())
	if v == nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, tooMany, http.StatusServiceUnavailable)
		return
	}
	defer p.leave(v)
	s := &stream{Page: p, w: w, to: http.NewResponseController(w)}
	// The time limit of a request is none of a stream: each write has its own.
	if err := s.to.SetReadDeadline(time.Time{}); err != nil {
		http.Error(w, "no stream", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")

	beat := p.Clock.NewTicker(beatEvery)
	defer beat.Stop()
	for s.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-v.ended:
			return
		case <-beat.C():
			// The stream may have begun long ago: it ends when the viewer has lost the right.
			if _, refused := p.mayList(r); refused != nil {
				return
			}
			s.send("beat", p.Clock.Now().UTC())
			s.chart()
			s.flush()
			p.checkOperators(r.Context())
			continue
		case <-v.wake:
		}
		d := p.take(v)
		s.batch(d)
		if d.all {
			p.checkOperators(r.Context())
		}
		rest := p.Clock.NewTimer(pause)
		select {
		case <-rest.C():
		case <-r.Context().Done():
			rest.Stop()
			return
		}
	}
}

// stream writes events to one viewer; after the first error it writes no more.
type stream struct {
	*Page
	w   http.ResponseWriter
	to  *http.ResponseController
	err error
	// sent is the number of the newest entry of the time line sent to the viewer, and drawn the last chart.
	sent  int
	drawn string
}

func (s *stream) batch(d due) {
	if d.operator {
		s.send("operator", s.operatorNow())
	}
	if d.all {
		s.list()
	}
	for key := range d.changed {
		s.release(key)
	}
	if d.drifted || len(d.changed) > 0 {
		s.drift()
	}
	s.flush()
}

func (s *stream) list() {
	all, err := s.Releases.List(s.Namespace, labels.Everything())
	if err != nil {
		s.Log.Errorf("page: list HelmReleases: %v", err)
	}
	for _, hr := range all {
		s.row(hr)
	}
	s.drift()
	s.chart()
	s.send("listed", len(all))
}

func (s *stream) release(key string) {
	namespace, name, _ := strings.Cut(key, "/")
	hr, err := s.Releases.Get(namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		s.forget(key)
		s.send("gone", key)
	case err != nil:
		s.Log.Errorf("page: look up HelmRelease %s: %v", key, err)
	default:
		s.row(hr)
	}
}

func (s *stream) row(hr *v1alpha1.HelmRelease) {
	text, err := s.rowEvent(hr)
	if err != nil {
		s.err = err
	}
	s.write(text)
}

func (s *stream) drift() {
	entries, sent := s.newDrift(s.sent)
	if s.sent = sent; len(entries) > 0 {
		s.send("drift", entries)
	}
}

func (s *stream) send(event string, data any) {
	text, err := encode(event, data)
	if err != nil {
		s.err = err
		return
	}
	s.write(text)
}

// encode returns a server-sent event. JSON has no line ends, so its data fit on one line.
func encode(event string, data any) (string, error) {
	encoded, err := json.Marshal(data)
	return "event: " + event + "\ndata: " + string(encoded) + "\n\n", err
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	// Real time: the network is slow here, and not the clock of a test.
	if s.err = s.to.SetWriteDeadline(time.Now().Add(s.timeout)); s.err == nil {
		_, s.err = s.w.Write([]byte(text))
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.to.Flush()
	}
}
