package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rawjson"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

const (
	bookmarkText = `{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"resourceVersion":"12",` +
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`
	expiredText = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
)

// serve returns a client of an API server with this handler.
func serve(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := NewClient(&rest.Config{Host: server.URL})
	check.NoError(t, err)
	return c
}

func reply(t *testing.T, w http.ResponseWriter, code int, body string) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if _, err := io.WriteString(w, body); err != nil {
		t.Log(err) // a client that refuses a large answer hangs up
	}
}

func TestAWatchDeliversObjectsBookmarksAndErrors(t *testing.T) {
	var asked string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		reply(t, w, http.StatusOK, `{"type":"ADDED","object":`+webText+"}\n"+bookmarkText+"\n"+
			`{"type":"DELETED","object":`+webText+"}\n"+`{"type":"ERROR","object":`+expiredText+"}\n")
	})
	watch,
		err := c.Watch(t.Context(), deployments, metav1.ListOptions{LabelSelector: HelmSelector, ResourceVersion: "3"})
	check.NoError(t, err)
	defer watch.Stop()
	for _, want := range []apiwatch.EventType{apiwatch.Added, apiwatch.Bookmark, apiwatch.Deleted, apiwatch.Error} {
		event := <-watch.ResultChan()
		live, ok := event.Object.(*Live)
		switch {
		case event.Type != want:
			t.Fatalf("got %s %v, want %s", event.Type, event.Object, want)
		case want == apiwatch.Error:
			check.That(t, apierrors.IsResourceExpired(apierrors.FromObject(event.Object)), "the error is %v",
				event.Object)
		case !ok:
			t.Errorf("%s of a %T", want, event.Object)
		case want == apiwatch.Bookmark:
			check.That(t, live.ResourceVersion == "12" && live.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true",
				"the bookmark is %+v", live.ObjectMeta)
		case live.Name != "web":
			t.Errorf("%s of %q", want, live.Name)
		}
	}
	want := "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io%2Fmanaged-by%3DHelm&resourceVersion=3&watch=true"
	check.That(t, asked == want, "asked for %s, want %s", asked, want)
}

// A silent connection fails as after a deadline. The watch then ends without an error, and is resumed where it was.
func TestAWatchOfAConnectionThatTimesOutEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply(t, w, http.StatusOK, `{"type":"ADDED","object":`+webText+"}\n"+`{"type":"ADD`) // and the rest never comes
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	conns := make(chan net.Conn, 1)
	c, err := NewClient(&rest.Config{Host: server.URL,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				conns <- conn
			}
			return conn, err
		}})
	check.NoError(t, err)
	watch, err := c.Watch(t.Context(), deployments, metav1.ListOptions{})
	check.NoError(t, err)
	defer watch.Stop()
	var events []apiwatch.EventType
	for event := range watch.ResultChan() {
		events = append(events, event.Type)
		check.NoError(t, (<-conns).SetReadDeadline(time.Now()))
	}
	check.That(t, slices.Equal(events, []apiwatch.EventType{apiwatch.Added}), "delivered %v", events)
}

func TestErrorsOfTheAPIServerArePassedOn(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(t, w, http.StatusGone, expiredText) })
	_, err := c.List(t.Context(), deployments, metav1.ListOptions{}, nil)
	check.That(t, apierrors.IsResourceExpired(err), "the list ends with %v", err)
	_, err = c.Watch(t.Context(), deployments, metav1.ListOptions{})
	check.That(t, apierrors.IsResourceExpired(err), "the watch ends with %v", err)
}

// names is a Sink that forwards the names of objects.
type names chan string

func (n names) Observed(_ schema.GroupVersionKind, obj *Live)              { n <- "observed " + obj.Name }
func (n names) Gone(_ schema.GroupVersionKind, obj *Live)                  { n <- "gone " + obj.Name }
func (n names) Listed(_ schema.GroupVersionKind, _ func(manifest.ID) bool) { n <- "listed" }
func (n names) Troubled(schema.GroupVersionKind)                           {}

func (n names) Rewound(schema.GroupVersionKind) {}

// An API server that cannot stream lists makes the Reflector list pages. The watch continues where the list ended,
// and an expired watch causes another list.
func TestObjectsAreListedInPagesWatchedAndListedAgain(t *testing.T) {
	page := func(next, name string) string {
		return fmt.Sprintf(`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"5","continue":%q},
			"items":[{"metadata":{"name":%q,"namespace":"apps","resourceVersion":"4"}}]}`, next, name)
	}
	watches := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case q.Get("sendInitialEvents") != "":
			reply(t, w, http.StatusUnprocessableEntity,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case q.Get("watch") == "" && q.Get("continue") == "":
			reply(t, w, http.StatusOK, page("more", "a"))
		case q.Get("watch") == "":
			reply(t, w, http.StatusOK, page("", "b"))
		default:
			if watches++; watches > 1 {
				<-r.Context().Done()
				return
			}
			reply(t, w, http.StatusOK, `{"type":"MODIFIED","object":`+webText+"}\n"+`{"type":"ERROR","object":`+
				expiredText+"}\n")
		}
	})
	told := make(names)
	o := NewObjects(c, told, fixture.Quiet())
	ctx, stop := context.WithCancel(t.Context())
	defer o.Wait()
	defer stop()
	o.Start(ctx)
	o.Need("hr", map[schema.GroupVersionKind]Kind{deployments.GroupVersion().WithKind("Deployment"): {GVR: deployments,
		Namespaced: true}})
	deadline := time.After(30 * time.Second)
	for _, want := range []string{"observed a", "observed b", "listed", "observed web", "observed a", "observed b",
		"listed"} {
		select {
		case got := <-told:
			check.Must(t, got == want, "told %q, want %q", got, want)
		case <-deadline:
			t.Fatalf("never told %q", want)
		}
	}
}

func TestAStreamThatBreaksOffIsNotAtItsEnd(t *testing.T) {
	for stream, want := range map[string]error{
		"": io.EOF, `{"type":"ADDED","obj`: io.ErrUnexpectedEOF,
		"x\n": rawjson.ErrSyntax, "}\n": rawjson.ErrSyntax, "<html>\n": rawjson.ErrSyntax,
		"{\n": rawjson.ErrSyntax, `{"type":"ADDED","object":{"metadata":{"name":` + "\n": rawjson.ErrSyntax,
	} {
		e := &events{lines: bufio.NewReader(strings.NewReader(stream))}
		_, _, err := e.Decode()
		check.That(t, errors.Is(err, want), "%q ends with %v, want %v", stream, err, want)
	}
}
