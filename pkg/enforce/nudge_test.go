package enforce

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// nudged takes the patches of a nudger, one at a time, and answers them with an error or none.
type nudged struct {
	metadata.ResourceInterface
	kinds  chan types.PatchType
	bodies chan string
	answer chan error
}

func (n *nudged) Patch(_ context.Context, _ string, kind types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	n.kinds <- kind
	n.bodies <- string(body)
	return nil, <-n.answer
}

// nudging is a nudger with a clock that a test sets and an API server that a test plays.
type nudging struct {
	*nudger
	t      *testing.T
	server *nudged
	log    *bytes.Buffer
	time   time.Time
}

func newNudging(t *testing.T) *nudging {
	t.Helper()
	text := &bytes.Buffer{}
	log := logrus.New()
	log.SetOutput(text)
	n := &nudging{t: t, log: text, time: time.Unix(1000, 0),
		server: &nudged{kinds: make(chan types.PatchType, 1), bodies: make(chan string, 1), answer: make(chan error)}}
	n.nudger = &nudger{client: n.server, name: "own-nudge", log: log, now: func() time.Time { return n.time }}
	return n
}

// list begins a list after some time and says whether the API server was nudged.
func (n *nudging) list(after time.Duration, underWay int) bool {
	n.mu.Lock()
	n.time = n.time.Add(after)
	before := n.count
	n.mu.Unlock()
	n.listing(n.t.Context(), underWay)
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count > before
}

// answered answers the nudge under way and waits until that is taken note of.
func (n *nudging) answered(err error) (kind types.PatchType, body string) {
	kind, body = <-n.server.kinds, <-n.server.bodies
	n.server.answer <- err
	if apierrors.IsNotFound(err) {
		return kind, body
	}
	for {
		n.mu.Lock()
		busy := n.busy
		n.mu.Unlock()
		if !busy {
			return kind, body
		}
	}
}

func TestOnlyAListThatWouldWaitIsNudged(t *testing.T) {
	n := newNudging(t)
	if n.list(0, 1) {
		t.Error("the first list was nudged")
	}
	if n.list(cachePatience, 1) {
		t.Error("a list was nudged for which the API server asks etcd at once")
	}
	if !n.list(time.Millisecond, fewUnderWay) {
		t.Fatal("a list right after another one was not nudged")
	}
	if n.list(time.Millisecond, 1) {
		t.Error("two nudges at once")
	}
	_, first := n.answered(nil)
	if n.list(time.Millisecond, fewUnderWay+1) {
		t.Error("a list was nudged that many wait for")
	}
	if !n.list(cachePatience-1, 1) {
		t.Fatal("no second nudge")
	}
	if kind, second := n.answered(nil); kind != types.MergePatchType || first == second {
		t.Errorf("the second nudge, a %s, is the same as the first, and would change nothing: %s", kind, second)
	}
}

func TestANudgeMakesTheSecretThatIsMissing(t *testing.T) {
	n := newNudging(t)
	n.list(0, 1)
	n.list(1, 1)
	n.answered(apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "own-nudge"))
	kind, body := n.answered(nil)
	if kind != types.ApplyPatchType || !strings.Contains(body, `"kind":"Secret"`) || !strings.Contains(body, `"name":"own-nudge"`) || strings.Contains(body, `"data"`) {
		t.Errorf("made by a %s of %s", kind, body)
	}
}

func TestARefusedNudgeIsToldOnceAndNotTriedForAWhile(t *testing.T) {
	n := newNudging(t)
	refusal := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no such luck"}}
	n.list(0, 1)
	n.list(1, 1)
	n.answered(refusal)
	for range 10 {
		if n.list(cachePatience/2, 1) {
			t.Fatal("nudged again at once")
		}
	}
	n.list(nudgeRest, 1)
	if !n.list(1, 1) {
		t.Fatal("never nudged again")
	}
	n.answered(refusal)
	if told := strings.Count(n.log.String(), "no such luck"); told != 1 {
		t.Errorf("told %d times: %s", told, n.log)
	}
}

// A prover without a Secret to write to only reads.
func TestWithoutASecretNothingIsWritten(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}}
	p := l.prover(Omit{})
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			if holds, err := p.Holds(t.Context(), recordOf(t, locked)); err != nil || !holds {
				t.Errorf("holds is %v, %v", holds, err)
			}
		})
		wait.Wait()
	}
	if p.nudger.count != 0 || l.lists != 5 {
		t.Errorf("%d nudges, %d lists", p.nudger.count, l.lists)
	}
}
