package enforce

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// hurried brings it about that another mark is expected, as two have followed each other.
func (m *marking) hurried() {
	m.t.Helper()
	m.listed()
	m.marked(false)
	m.marked(false)
	m.expect(3)
}

// What the mark tells is as of a moment after it was asked for, however early its request has begun.
func TestI1_AMarkThatBeginsAheadIsWrittenWhenItIsAskedFor(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.hurried()
		for i := range 3 {
			pass(aheadPatience / 4)
			m.idle() // nobody has asked
			m.marked(true)
			m.expect(int32(4 + i)) // and the next one
		}
		m.idle()
		m.current = recordOf(t, secret("3", "u3", "30", "pending-upgrade"))
		asked := m.ask(m.t.Context())
		w := <-m.writes
		close(m.seen)
		m.holds(false, 0, asked)
		w.answer <- nil
	})
}

func TestAMarkBeginsAheadOnlyWhenMarksFollowEachOther(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		for range 3 { // as with deletions, of which each takes two checks
			pass(aheadPatience)
			m.listed()
			begun := m.begun.Load()
			m.marked(false)
			m.expect(begun + 1)
		}
	})
	withMarks(t, func(m *marking) { // by a client that cannot hold anything back
		m.listed()
		for range 5 {
			m.marked(false)
		}
		m.idle()
	})
}

func TestAMarkBeginsAheadWhenNothingIsUnderWay(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.listed()
		m.marked(false)
		done := m.busy()
		m.marked(false)
		m.expect(2)
		done()
		m.expect(3)
		m.marked(true)
	})
}

// Those who come together share a mark, and while one of them waits none begins ahead.
func TestAMarkDoesNotBeginAheadWhileOneIsUnderWay(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.listed()
		m.marked(false)
		first := m.ask(m.t.Context())
		w := <-m.writes
		second := m.ask(m.t.Context())
		close(m.seen)
		m.holds(true, 0, first)
		m.expect(2)
		w.answer <- nil
		w = <-m.writes
		m.expect(3)
		m.none(second)
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, second)
		m.expect(4)
	})
}

// Somebody may have changed a record after the body was let go, and before the check is asked for.
func TestI1_AMarkThatNobodyAskedForProvesNothing(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.hurried()
		pass(aheadPatience)
		lapsed, seen := <-m.writes, m.seen
		m.listed()
		asked := m.ask(m.t.Context())
		close(seen)
		m.none(asked)
		m.idle() // two writes to one Secret at once
		lapsed.answer <- nil
		w := <-m.writes
		m.none(asked)
		m.expect(4)
		m.current.ResourceVersion = "21"
		close(m.seen)
		w.answer <- nil
		m.holds(false, 0, asked)
	})
}

// At the end of a burst there is one mark more, and then nothing.
func TestAMarkThatNobodyAsksForIsTheLast(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.hurried()
		begin := time.Now()
		w := <-m.writes
		if took := time.Since(begin); took != aheadPatience {
			t.Errorf("written after %v, want %v", took, aheadPatience)
		}
		w.answer <- nil
		pass(time.Hour)
		m.idle()
		m.expect(3)
		m.listed()
		m.marked(false)
		m.expect(4)
	})
}

// That the API server, or the network, had something against a request before anybody asked is no reason to do without marks, even if it
// is told only when the body is sent.
func TestAMarkThatWasRefusedAheadIsWrittenAnew(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.hurried()
		m.refuse <- errors.New("no time")
		synctest.Wait()
		m.marked(false)

		m.marked(true) // as two have followed each other
		asked := m.ask(m.t.Context())
		(<-m.writes).answer <- errors.New("connection closed")
		w := <-m.writes
		m.expect(7)
		m.none(asked)
		close(m.seen)
		w.answer <- nil
		m.holds(true, 0, asked)
		if m.log.Len() > 0 {
			t.Errorf("told: %s", m.log)
		}

		asked = m.ask(m.t.Context())
		for range 2 { // that begins now, and is refused as well
			(<-m.writes).answer <- errors.New("no more")
		}
		m.holds(true, 0, asked)
		if !strings.Contains(m.log.String(), "no more") {
			t.Errorf("told: %q", m.log)
		}
	})
}

// A mark that was let go and is not answered is waited for, but no longer than any other.
func TestAMarkThatNobodyAskedForDoesNotKeepOthersWaitingForLong(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.hurried()
		pass(aheadPatience)
		<-m.writes
		m.listed()
		m.holds(true, markPatience, m.ask(m.t.Context())) // by a list
		if !strings.Contains(m.log.String(), errNotSeen.Error()) {
			t.Errorf("told: %q", m.log)
		}
	})
}

func TestCloseEndsAMarkThatHasBegunAhead(t *testing.T) {
	withMarksAhead(t, func(m *marking) {
		m.hurried()
		begin := time.Now()
		m.Close()
		if took := time.Since(begin); took > 0 || m.log.Len() > 0 {
			t.Errorf("took %v; told: %s", took, m.log)
		}
	})
}

// held is a marker with the real client, and a request that has begun.
type heldMark struct {
	*marker
	server *patchServer
	front  *httptest.Server
	r      *markRequest
}

func newHeldMark(t *testing.T, protocol string) *heldMark {
	t.Helper()
	h := &heldMark{server: newPatchServer()}
	h.front = httptest.NewUnstartedServer(h.server)
	h.front.EnableHTTP2 = true
	h.front.StartTLS()
	t.Cleanup(h.front.Close)
	secrets, err := NewSecrets(&rest.Config{Host: h.front.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true, NextProtos: []string{protocol}}})
	if err != nil {
		t.Fatal(err)
	}
	h.marker = &marker{client: secrets.Secrets("own"), name: "own-mark", view: &marking{}, work: newBackground(), log: logrus.New()}
	t.Cleanup(h.work.Close)
	h.r = h.begin()
	<-h.server.began
	select {
	case body := <-h.server.bodies:
		t.Fatalf("a body came before anybody asked: %q", body)
	default:
	}
	return h
}

// By the real client, all of a request but its body comes before the mark is asked for, and the body after.
func TestI1_TheBodyOfAMarkWaitsUntilItIsAskedFor(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			h := newHeldMark(t, protocol)
			if !h.r.ask() {
				t.Fatal("the body was let go")
			}
			if body := string(<-h.server.bodies); !strings.HasPrefix(body, "k8s\x00") || !strings.Contains(body, "helm.cattle.io/mark") {
				t.Errorf("the body is %q", body)
			}
			<-h.r.answered
		})
	}
}

// A load balancer may close a connection at any time.
func TestAMarkWhoseConnectionClosedWhileItWasHeldIsWrittenAnew(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			h := newHeldMark(t, protocol)
			h.front.CloseClientConnections()
			<-h.server.bodies // that of which nothing came
			h.ahead = h.r
			ended := make(chan error, 1)
			go func() {
				_, err := h.mark(t.Context())
				ended <- err
			}()
			<-h.server.began
			if body := string(<-h.server.bodies); !strings.HasPrefix(body, "k8s\x00") {
				t.Errorf("the body is %q", body)
			}
			close(h.view.(*marking).seen)
			if err := <-ended; err != nil || h.rests() {
				t.Errorf("%v; marks rest: %v", err, h.rests())
			}
		})
	}
}

// An API server that says when to try again is not waited for.
func TestAMarkIsNotTriedAgainByTheClient(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			h := newHeldMark(t, protocol)
			h.r.ask()
			<-h.r.answered
			h.server.status = http.StatusTooManyRequests
			r := h.begin()
			r.ask()
			if err := <-r.refused; !apierrors.IsTooManyRequests(err) {
				t.Errorf("refused with %v", err)
			}
			<-r.answered
			if n := len(h.server.began); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
