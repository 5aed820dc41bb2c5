package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestProxy(t *testing.T) {
	c := ForTest(t, Options{})
	direct := clientFor(t, c.RESTConfig())
	// Each case gets a proxy and a namespace-wide view of ConfigMaps of its own.
	cases := map[string]func(context.Context, *testing.T, *Proxy, *kubernetes.Clientset, *kubernetes.Clientset){
		"records requests":                           recordsRequests,
		"fails and drops what a hook selects":        failsAndDrops,
		"holds requests before the API server":       holdsRequests,
		"holds answers after the API server acted":   holdsAnswers,
		"holds and cuts open and new watches":        holdsAndCutsWatches,
		"a client that goes away frees a held watch": heldWatchOfAGoneClient,
		"passes the end of a watch when the server dies": func(ctx context.Context, t *testing.T, p *Proxy, via,
			_ *kubernetes.Clientset) {
			events := startWatch(ctx, t, via)
			check.NoError(t, c.RestartAPIServer(ctx))
			event, open := <-events
			check.That(t, !open, "the watch goes on: %v", event)
			_, err := via.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
			check.That(t, err == nil, "the proxy does not reach the restarted API server: %v", err)
		},
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := c.StartProxy()
			check.NoError(t, err)
			run(testContext(t), t, p, clientFor(t, p.RESTConfig()), direct)
			check.Report(t, p.Close())
			open := p.Watches(nil)
			check.That(t, open == 0, "%d watches are left", open)
		})
	}
}

func recordsRequests(ctx context.Context, t *testing.T, p *Proxy, via, _ *kubernetes.Clientset) {
	maps := via.CoreV1().ConfigMaps("default")
	_, err := maps.Create(ctx, configMap("recorded"), metav1.CreateOptions{FieldManager: "tester"})
	check.NoError(t, err)
	_, err = maps.Get(ctx, "absent", metav1.GetOptions{})
	check.That(t, apierrors.IsNotFound(err), "error %v, want not found", err)
	all, writes := p.Requests(), p.Writes()
	check.Must(t, len(all) == 2 && len(writes) == 1, "%d requests and %d writes, want 2 and 1: %v", len(all), len(writes),
		all)
	w := writes[0]
	check.That(t,
		w.Method == http.MethodPost && w.Path == "/api/v1/namespaces/default/configmaps" &&
			w.Query.Get("fieldManager") == "tester" && w.Code == http.StatusCreated && w.User == "admin" && w.UserAgent != "" &&
			len(w.Body) > 0 && w.Resource() == "configmaps", "recorded %+v", w)
	if all[1].Code != http.StatusNotFound {
		t.Errorf("recorded code %d, want 404", all[1].Code)
	}
	p.Reset()
	all = p.Requests()
	check.That(t, len(all) == 0, "after Reset: %v", all)
}

func failsAndDrops(ctx context.Context, t *testing.T, p *Proxy, via, direct *kubernetes.Clientset) {
	maps := via.CoreV1().ConfigMaps("default")
	create := func(name string, action Action) error {
		remove := p.Intercept(func(r *http.Request) Action {
			if ForResource("configmaps", http.MethodPost)(r) {
				return action
			}
			return Forward()
		})
		defer remove()
		_, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{})
		return err
	}
	exists := func(name string) bool {
		_, err := direct.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil
	}
	err := create("refused", Fail(http.StatusConflict, "on purpose"))
	check.That(t, apierrors.IsConflict(err), "error %v, want a conflict", err)
	err = create("dropped", Drop())
	check.That(t, err != nil, "no error for a dropped request")
	err = create("done", DropAnswer())
	check.That(t, err != nil, "no error for a dropped answer")
	if exists("refused") || exists("dropped") || !exists("done") {
		t.Errorf("refused %t, dropped %t, done %t: want only the last", exists("refused"), exists("dropped"),
			exists("done"))
	}
	check.Report(t, create("plain", Forward()))
}

func holdsRequests(ctx context.Context, t *testing.T, p *Proxy, via, direct *kubernetes.Clientset) {
	held(t, p.HoldRequests(ForResource("configmaps", http.MethodPost)), via, direct, false)
}

func holdsAnswers(ctx context.Context, t *testing.T, p *Proxy, via, direct *kubernetes.Clientset) {
	held(t, p.HoldAnswers(ForResource("configmaps", http.MethodPost)), via, direct, true)
}

// held creates a ConfigMap while a hold is active, and checks whether it exists on the server meanwhile.
func held(t *testing.T, hold *Hold, via, direct *kubernetes.Clientset, exists bool) {
	t.Helper()
	ctx := t.Context()
	name := fmt.Sprintf("held-%t", exists)
	result := make(chan error, 1)
	go func() {
		_, err := via.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{})
		result <- err
	}()
	check.NoError(t, hold.Wait(ctx, 1))
	_, err := direct.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	check.That(t, (!exists || err == nil) && (exists || apierrors.IsNotFound(err)),
		"error %v while held, want the object to exist: %t", err, exists)
	select {
	case err := <-result:
		t.Fatalf("the client was answered while held: %v", err)
	default:
	}
	hold.Release()
	hold.Release()
	check.Report(t, <-result)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	err = hold.Wait(short, 2)
	check.That(t, errors.Is(err, context.DeadlineExceeded), "error %v, want that the second request did not arrive", err)
}

func startWatch(ctx context.Context, t *testing.T, client *kubernetes.Clientset) <-chan watch.Event {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	check.NoError(t, err)
	w, err := client.CoreV1().ConfigMaps("default").Watch(ctx,
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	check.NoError(t, err)
	t.Cleanup(w.Stop)
	return w.ResultChan()
}

func holdsAndCutsWatches(ctx context.Context, t *testing.T, p *Proxy, via, direct *kubernetes.Clientset) {
	create := func(name string) {
		t.Helper()
		_, err := direct.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{})
		check.NoError(t, err)
	}
	expect := func(events <-chan watch.Event, names ...string) {
		t.Helper()
		for _, name := range names {
			select {
			case event := <-events:
				object, ok := event.Object.(metav1.Object)
				check.Must(t, ok && object.GetName() == name, "event %s %v, want %s", event.Type, event.Object, name)
			case <-ctx.Done():
				t.Fatalf("no event of %s: %v", name, ctx.Err())
			}
		}
	}
	silent := func(streams ...<-chan watch.Event) {
		t.Helper()
		for _, events := range streams {
			select {
			case event := <-events:
				t.Fatalf("event %v during a hold", event)
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	open := startWatch(ctx, t, via)
	create("watched-1")
	expect(open, "watched-1")

	var asked atomic.Int32
	release := p.HoldWatch(func(r *http.Request) bool { asked.Add(1); return ForResource("configmaps")(r) })
	other := p.HoldWatch(ForResource("configmaps"))
	later := startWatch(ctx, t, via)
	create("watched-2")
	create("watched-3")
	silent(open, later)
	release()
	release()
	silent(open, later)
	other()
	expect(open, "watched-2", "watched-3")
	expect(later, "watched-2", "watched-3")
	check.That(t, asked.Load() != 0, "the match was never asked")

	defer p.HoldWatch(nil)()
	create("watched-4")
	silent(open)
	n := p.Watches(ForResource("configmaps"))
	check.That(t, n == 2, "%d watches are open, want 2", n)
	n = p.CutWatches(ForResource("secrets"))
	check.That(t, n == 0, "cut %d watches of Secrets, want none", n)
	n = p.CutWatches(nil)
	check.That(t, n == 2, "cut %d watches, want 2", n)
	for _, events := range []<-chan watch.Event{open, later} {
		event, ok := <-events
		check.That(t, !ok, "event %v after the cut", event)
	}
}

func heldWatchOfAGoneClient(ctx context.Context, t *testing.T, p *Proxy, via, _ *kubernetes.Clientset) {
	defer p.HoldWatch(nil)()
	gone, leave := context.WithCancel(ctx)
	startWatch(gone, t, via)
	n := p.Watches(nil)
	check.That(t, n == 1, "%d watches are open, want 1", n)
	leave()
	eventually(t, "the watch ends with its client", func() bool { return p.Watches(nil) == 0 })
}
