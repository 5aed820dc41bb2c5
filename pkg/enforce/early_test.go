package enforce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// The patch arrives while the check is under way, and its body when that has passed.
func TestAWriteBeginsBeforeItsCheckHasPassed(t *testing.T) {
	for _, protocol := range protocols {
		for _, how := range patches {
			t.Run(protocol+"/"+string(how), func(t *testing.T) {
				k := newEarlyKit(t, newPatchServer(), protocol)
				done := k.revert(t.Context(), how)
				<-k.server.began
				select {
				case body := <-k.server.bodies:
					t.Fatalf("written before the check has passed: %s", body)
				case err := <-done:
					t.Fatalf("ended before the check has passed: %v", err)
				default:
				}
				close(k.lists.gate)
				if body := <-k.server.bodies; !bytes.Contains(body, []byte(`"value":"one"`)) {
					t.Errorf("wrote %s", body)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A patch whose check does not pass says nothing, and breaks no connection.
func TestI1_AWriteThatHasBegunSaysNothingIfItsCheckDoesNotPass(t *testing.T) {
	for _, protocol := range protocols {
		for _, how := range patches {
			t.Run(protocol+"/"+string(how), func(t *testing.T) {
				k := newEarlyKit(t, newPatchServer(), protocol, secret("3", "u3", "30", "pending-upgrade"))
				addrs := map[string]bool{}
				for range 2 {
					k.early.notBefore = time.Time{}
					k.lists.gate = make(chan struct{})
					done := k.revert(t.Context(), how)
					<-k.server.began
					addrs[<-k.server.addrs] = true
					close(k.lists.gate)
					body := <-k.server.bodies
					if isPatch(body) {
						t.Errorf("sent %s", body)
					}
					err := <-done
					if unchecked := (*UncheckedError)(nil); !errors.As(err, &unchecked) || !errors.Is(err, ErrNotNewest) {
						t.Errorf("ended with %v", err)
					}
					if k.begin(unanswered()) != nil {
						t.Error("the next one is begun early, although what is known of records is behind")
					}
				}
				if len(addrs) != 1 {
					t.Errorf("two patches came over the connections %v", addrs)
				}
			})
		}
	}
}

// API servers decode what they are sent before they refuse it, some to write it to an audit log.
func TestABodyThatIsNoPatchIsJSON(t *testing.T) {
	for size := int64(2); size < 300; size++ {
		body, err := io.ReadAll(void(size))
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(body, &text); err != nil || int64(len(body)) != size {
			t.Errorf("%d bytes are %q, %v", size, body, err)
		}
		if err := yaml.Unmarshal(body, &text); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		if isPatch(body) {
			t.Errorf("%q is a patch", body)
		}
		if size > 200 && strings.TrimSpace(text) != excuse {
			t.Errorf("%q does not say why", body)
		}
	}
}

// A check that takes long does not keep a request of the API server's busy: it is ended, and made again when the check has passed. Then
// none is begun early for a while.
func TestAWriteThatWaitsForLongIsMadeAgain(t *testing.T) {
	k := newEarlyKit(t, newPatchServer(), "http/1.1")
	k.early.patience = time.Nanosecond
	done := k.revert(t.Context(), types.MergePatchType)
	if body := <-k.server.bodies; isPatch(body) {
		t.Fatalf("written before the check has passed: %s", body)
	}
	select {
	case err := <-done:
		t.Fatalf("ended before the check has passed: %v", err)
	default:
	}
	close(k.lists.gate)
	if body := <-k.server.bodies; !isPatch(body) {
		t.Errorf("wrote %s", body)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	k.early.patience = time.Hour
	if k.begin(unanswered()) != nil {
		t.Error("the next one is begun early")
	}
	k.early.notBefore = k.early.notBefore.Add(-holdRest)
	if k.begin(unanswered()) == nil {
		t.Errorf("nothing is begun early after %s", holdRest)
	}
}

// It is not made again when the check does not pass.
func TestI1_AWriteThatWaitsForLongIsMadeAgainOnlyIfItsCheckPasses(t *testing.T) {
	k := newEarlyKit(t, newPatchServer(), "http/1.1", secret("3", "u3", "30", "pending-upgrade"))
	k.early.patience = time.Nanosecond
	done := k.revert(t.Context(), types.MergePatchType)
	if body := <-k.server.bodies; isPatch(body) {
		t.Fatalf("written before the check has passed: %s", body)
	}
	close(k.lists.gate)
	err := <-done
	if unchecked := (*UncheckedError)(nil); !errors.As(err, &unchecked) || !errors.Is(err, ErrNotNewest) {
		t.Errorf("ended with %v", err)
	}
	if len(k.server.bodies) > 0 {
		t.Errorf("wrote %s", <-k.server.bodies)
	}
}

// What the API server says before it has the body counts only if the check has passed.
func TestAWriteThatIsRefusedBeforeItsCheckHasPassed(t *testing.T) {
	for name, now := range map[string][]*metav1.PartialObjectMetadata{
		"passed": nil, "an upgrade has begun": {secret("3", "u3", "30", "pending-upgrade")},
	} {
		t.Run(name, func(t *testing.T) {
			server := newPatchServer()
			server.status = http.StatusForbidden
			k := newEarlyKit(t, server, "h2", now...)
			done := k.revert(t.Context(), types.MergePatchType)
			<-server.began
			close(k.lists.gate)
			err := <-done
			if passed := now == nil; errors.Is(err, ErrNotNewest) == passed {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// A request that is made again, as client-go does where the API server has no time, is not if it is known that it may not be.
func TestAWriteIsNotTriedAgainWhenItsCheckHasNotPassed(t *testing.T) {
	server := newPatchServer()
	server.status = http.StatusTooManyRequests
	k := newEarlyKit(t, server, "h2", secret("3", "u3", "30", "pending-upgrade"))
	done := k.revert(t.Context(), types.MergePatchType)
	<-server.began
	close(k.lists.gate)
	if err := <-done; !errors.Is(err, ErrNotNewest) {
		t.Errorf("ended with %v", err)
	}
	if n := len(server.began); n > 0 {
		t.Errorf("it was made %d times again", n)
	}
}

// What became of a write that was sent is for the API server to say, also when nobody waits for it any more.
func TestAWriteThatWasSentIsNotCalledUnchecked(t *testing.T) {
	server := newPatchServer()
	server.answer = make(chan struct{})
	k := newEarlyKit(t, server, "h2")
	ctx, cancel := context.WithCancel(t.Context())
	done := k.revert(ctx, types.MergePatchType)
	<-server.began
	close(k.lists.gate)
	<-server.bodies
	cancel()
	err := <-done
	if unchecked := (*UncheckedError)(nil); errors.As(err, &unchecked) || !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	close(server.answer)
}

// Who stops waiting is told so at once, and nothing is written.
func TestAWriteThatHasBegunEndsWithItsContext(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			k := newEarlyKit(t, newPatchServer(), protocol)
			ctx, cancel := context.WithCancel(t.Context())
			done := k.revert(ctx, types.MergePatchType)
			<-k.server.began
			cancel()
			err := <-done
			if unchecked := (*UncheckedError)(nil); !errors.As(err, &unchecked) || !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
			if body := <-k.server.bodies; len(body) > 0 && isPatch(body) {
				t.Errorf("wrote %s", body)
			}
			close(k.lists.gate)
		})
	}
}

// A request does not begin early for a change that may be Helm's, with other writes under way, with an answer that is there already, and
// through a client that cannot hold anything back.
func TestWhenAWriteWaitsForItsCheck(t *testing.T) {
	k := newEarlyKit(t, newPatchServer(), "h2")
	defer close(k.lists.gate)
	foreign := unanswered()
	check := foreign.Check
	if k.begin(foreign) == nil {
		t.Fatal("a request does not begin early")
	}
	if k.begin(&Revert{Check: check}) != nil {
		t.Error("a request begins early for what may be Helm's work")
	}
	k.prover.underWay.Store(2)
	if k.begin(foreign) != nil {
		t.Error("a request begins early with another one under way")
	}
	k.prover.underWay.Store(0)
	if (&writer{prover: k.prover}).begin(foreign) != nil {
		t.Error("a request begins early through a client that may not hold it back")
	}
	close(check.done)
	if k.begin(foreign) != nil || k.begin(&Revert{Foreign: true}) != nil {
		t.Error("a request is held back for nothing")
	}
}

// A request that is sent once more, because its connection turned out to be closed, is held back as well.
func TestAWriteThatIsSentOnceMoreIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := &Check{done: make(chan struct{})}
		h := &hold{early: &early{patience: time.Hour}, check: check}
		read := make(chan []byte, 2)
		transport := holding(roundTrip(func(r *http.Request) (*http.Response, error) {
			again, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			for _, body := range []io.Reader{again, r.Body} {
				content, err := io.ReadAll(body)
				if err != nil {
					return nil, err
				}
				read <- content
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		}))
		r, err := http.NewRequestWithContext(held(t.Context(), h), http.MethodPatch, "https://127.0.0.1/", bytes.NewReader([]byte("patch")))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			response, err := transport.RoundTrip(r)
			if err == nil {
				err = response.Body.Close()
			}
			ended <- err
		}()
		synctest.Wait()
		if len(read) > 0 {
			t.Errorf("read %q before the check has passed", <-read)
		}
		close(check.done)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if content := <-read; string(content) != "patch" {
				t.Errorf("read %q", content)
			}
		}
	})
}

// Whoever finds Helm at work without having begun early does not do so for a while, either.
func TestNothingBeginsEarlyAfterHelmWasFoundAtWork(t *testing.T) {
	k := newEarlyKit(t, newPatchServer(), "h2", secret("3", "u3", "30", "pending-upgrade"))
	close(k.lists.gate)
	r := drifted()
	r.Check = newCheck(t.Context(), k.prover, k.record())
	if _, err := k.merge(t.Context(), r, "helm", false); !errors.Is(err, ErrNotNewest) {
		t.Fatalf("ended with %v", err)
	}
	if len(k.server.began) > 0 {
		t.Error("a request was made")
	}
	if k.begin(unanswered()) != nil {
		t.Error("the next one is begun early")
	}
}
