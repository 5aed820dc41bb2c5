package page

import (
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// events serves the stream of server-sent events. "operator" carries the state of the operators and of the page,
// "release" the current row of a HelmRelease, "gone" the key of a deleted one, and "drift" new entries of the time
// line. "chart" carries the drift of the last day, with a beat at most. A stream begins with all HelmReleases and
// "listed"; the changes follow.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	const tooMany = "too many viewers"
	by, refused := p.rights().mayList(r)
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
			if _, refused := p.rights().mayList(r); refused != nil {
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

// chart sends the chart if it is another one than before.
func (s *stream) chart() {
	chart := s.chartNow()
	text, err := encode("chart", chart)
	if err != nil {
		s.err = err
	}
	if text != s.drawn && (chart != nil || s.drawn != "") {
		s.write(text)
		s.drawn = text
	}
}
