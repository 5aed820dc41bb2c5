package watch

import (
	"fmt"
	"io"
	"net/http"
	runtimes "runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// statusEvent is an event with a version, a number of replicas and a status.
const statusEvent = `{"type":"MODIFIED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",` +
	`"namespace":"apps","resourceVersion":"%d"},"spec":{"replicas":%d},"status":{"conditions":[{"message":"%d"}]}}}` + "\n"

// A change of content among status updates is found, at any speed of events: here as fast as they can be read.
func TestNoChangeIsLostAmongStatusUpdates(t *testing.T) {
	const events, every = 20000, 50
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range events {
			if _, err := fmt.Fprintf(w, statusEvent, i+1, 1+i/every, i); err != nil {
				t.Error(err)
				return
			}
		}
	})
	watch, err := c.Watch(t.Context(), deployments, metav1.ListOptions{})
	check.NoError(t, err)
	defer watch.Stop()
	h, judged, changes, seen := drift.NewHasher(), uint64(0), int64(0), 0
	for e := range watch.ResultChan() {
		live, ok := e.Object.(*Live)
		check.Must(t, ok, "delivered a %T", e.Object)
		seen++
		digest, err := live.Digest(h)
		check.NoError(t, err)
		if digest != judged {
			judged = digest
			changes++
			u, err := live.Decode()
			check.NoError(t, err)
			n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
			check.Must(t, n == changes, "change %d has %d replicas", changes, n)
		}
	}
	check.That(t, seen == events && changes == events/every, "%d events and %d changes, want %d and %d", seen, changes,
		events, events/every)
}

const webText = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"apps","uid":"u","resourceVersion":"7",` +
	`"annotations":{"meta.helm.sh/release-name":"we\u0062","meta.helm.sh/release-namespace":"apps"},"managedFields":[{"f":"}\""}]},"status":{"x":1}}`

func TestLiveKnowsItsNameItsVersionAndItsAnnotations(t *testing.T) {
	l, err := newLive([]byte(webText), metav1.TypeMeta{})
	check.NoError(t, err)
	check.That(t, l.Namespace == "apps" && l.Name == "web" && l.ResourceVersion == "7", "read %s/%s at %s", l.Namespace,
		l.Name, l.ResourceVersion)
	a := l.GetAnnotations()
	check.That(t, len(a) == 2 && a["meta.helm.sh/release-name"] == "web", "annotations %v", a)
	for _, text := range []string{`{"metadata":{"annotations":3}}`, `{"metadata":{}}`, `{}`} {
		l, err := newLive([]byte(text), metav1.TypeMeta{})
		check.That(t, err == nil && len(l.GetAnnotations()) == 0, "%s has annotations %v, %v", text, l.GetAnnotations(),
			err)
	}
	for _, text := range []string{`{"metadata":3}`, `{"metadata":{"name":3}}`, `{"a":`, `x`, ``} {
		_, err := newLive([]byte(text), metav1.TypeMeta{})
		check.That(t, err != nil, "%s is an object", text)
	}
}

func TestLiveIsWhatItIsDecodedTo(t *testing.T) {
	h := drift.NewHasher()
	l, err := newLive([]byte(webText), metav1.TypeMeta{})
	check.NoError(t, err)
	u, err := l.Decode()
	check.NoError(t, err)
	check.That(t, u.GetName() == "web" && u.GetKind() == "Deployment" && len(u.GetManagedFields()) == 1, "decoded %v",
		u.Object)
	digest, err := l.Digest(h)
	check.That(t, err == nil && digest == h.Digest(u.Object), "another digest than the decoded object: %v", err)
}

func TestAListIsReadAsTheDynamicClientReadsIt(t *testing.T) {
	h := drift.NewHasher()
	for _, text := range []string{
		`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3},"items":[
			{"metadata":{"name":"a","namespace":"n","resourceVersion":"8"},"spec":{"replicas":1}}, {} , { "metadata":{"name":"b"}}]}`,
		`{"apiVersion":"e.io/v1","items":[{"apiVersion":"e.io/v1","kind":"Odd","metadata":{"name":"a"}}],"kind":"OddList","metadata":{"resourceVersion":"9"}}`,
		`{"apiVersion":"e.io/v1","items":[],"kind":"OddList","metadata":{"resourceVersion":"9"}}`,
	} {
		var items []*Live
		l, err := readList(strings.NewReader(text), func(item *Live) error {
			items = append(items, item)
			return nil
		})
		check.NoError(t, err)
		want := &unstructured.UnstructuredList{}
		check.NoError(t, runtime.DecodeInto(unstructured.UnstructuredJSONScheme, []byte(text), want))
		check.Must(t,
			l.ResourceVersion == want.GetResourceVersion() && l.Continue == want.GetContinue() &&
				len(items) == len(want.Items),
			"read %+v", l)
		for i, live := range items {
			u, err := live.Decode()
			check.NoError(t, err)
			check.That(t, h.Digest(u.Object) == h.Digest(want.Items[i].Object) && live.Name == want.Items[i].GetName(),
				"item %d is %v, not %v", i, u.Object, want.Items[i].Object)
		}
	}
	for _, text := range []string{``, `{"items":[{]}`, `{"items":[1]}`, `[]`, `{"metadata":3}`} {
		_, err := readList(strings.NewReader(text), func(*Live) error { return nil })
		check.That(t, err != nil, "%s is a list", text)
	}
}

// manyLarge is a list of 200 objects of half a megabyte, generated as it is read.
func manyLarge(t *testing.T) io.Reader {
	t.Helper()
	read, write := io.Pipe()
	go func() {
		_, err := io.WriteString(write,
			`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`)
		for i := 0; i < 200 && err == nil; i++ {
			_, err = fmt.Fprintf(write, `%s{"metadata":{"name":"a-%d"},"data":{"a":"%s"}}`,
				strings.Repeat(",", min(i, 1)), i, strings.Repeat("a", 1<<19))
		}
		if err == nil {
			_, err = io.WriteString(write, `]}`)
		}
		check.Report(t, write.CloseWithError(err))
	}()
	return read
}

// A list takes the memory of one object, and not of a page.
func TestAListOfLargeObjectsIsReadOneByOne(t *testing.T) {
	live := func() uint64 {
		var m runtimes.MemStats
		runtimes.GC()
		runtimes.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, n := live(), uint64(0), 0
	list, err := readList(manyLarge(t), func(item *Live) error {
		if n++; n%20 == 0 {
			most = max(most, live())
		}
		want := fmt.Sprintf("a-%d", n-1)
		check.That(t, item.Name == want, "item %d is %s", n, item.Name)
		return nil
	})
	check.That(t, err == nil && n == 200 && list.ResourceVersion == "9", "%d objects of %+v, %v", n, list, err)
	if most > before && (most-before)>>20 > 8 {
		t.Errorf("%d MiB are in memory at a time", (most-before)>>20)
	}
}
