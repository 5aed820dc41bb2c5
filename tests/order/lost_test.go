package order

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// An answer is lost, and the API server carries the write out later.

// lost is the first of the lost writes. It may arrive later.
type lost struct {
	*fixture
	seen   chan struct{} // is closed by the first write
	once   sync.Once
	first  *http.Request
	body   []byte
	remove func()
}

// losing loses all matching writes: the operator gets no answer, and the API server does nothing.
func (b *fixture) losing(match cluster.Match) *lost {
	b.Helper()
	l := &lost{fixture: b, seen: make(chan struct{})}
	l.remove = b.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if !match(r) {
			return cluster.Forward()
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return cluster.Drop()
		}
		l.once.Do(func() {
			l.first, l.body = r.Clone(b.Ctx), body
			close(l.seen)
		})
		return cluster.Drop()
	})
	return l
}

// wait waits for the first write, and ends the lock, so that no other write follows.
func (l *lost) wait() {
	l.Helper()
	select {
	case <-l.seen:
	case <-l.Ctx.Done():
		l.Fatal(l.Ctx.Err())
	}
	l.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	l.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	l.Proxy.Reset()
	l.Until("the operator looks for what became of the write", func() (any, bool) {
		return l.Proxy.Requests(), l.looks() > 1 // the first may be of before the suspension
	})
	l.remove()
}

// looks returns the number of reads of ConfigMap app since the proxy's Reset.
func (l *lost) looks() (n int) {
	for _, r := range l.Proxy.Requests() {
		if isLook(r.Method, r.Path) && r.Code != 0 {
			n++
		}
	}
	return n
}

func isLook(method, path string) bool {
	return method == http.MethodGet && strings.HasSuffix(path, "/configmaps/app")
}

// arrives has the API server carry the write out.
func (l *lost) arrives(want int) {
	l.Helper()
	check.NoError(l, kit.Shared.Except("I3-mode", l.Apps, "a lost write arrives long after the lock was suspended"))
	config := l.OperatorConfig()
	client, err := rest.HTTPClientFor(config)
	check.NoError(l, err)
	r, err := http.NewRequestWithContext(l.Ctx, l.first.Method, config.Host+l.first.URL.RequestURI(),
		bytes.NewReader(l.body))
	check.NoError(l, err)
	r.Header = l.first.Header.Clone()
	r.Header.Del("Authorization")
	response, err := client.Do(r)
	check.NoError(l, err)
	answer, err := io.ReadAll(response.Body)
	check.NoError(l, err)
	check.NoError(l, response.Body.Close())
	if response.StatusCode != want {
		l.Fatalf("the write that came late: %s: %s", response.Status, answer)
	}
}

// Another user's object has the name of the operator's creation, and is deleted. The failed creation is no proof that
// the lost one will not arrive.
func TestI1_LostCreationThatComesAfterAnotherUsersObject(t *testing.T) {
	withBoth(t, func(b *fixture, h cluster.Helm) {
		b.installed(h, oneValue, "one")
		creation := b.losing(isRevert("configmaps", http.MethodPost))
		b.Delete(kit.ConfigMaps, "app")
		creation.wait()
		_, err := b.Kube.CoreV1().ConfigMaps(b.Apps).Create(b.Ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"value": "mine"},
		}, metav1.CreateOptions{})
		check.NoError(b, err)
		b.Proxy.Reset()
		b.Until("the operator looks at it", func() (any, bool) { return b.Proxy.Requests(), creation.looks() > 1 })
		b.Delete(kit.ConfigMaps, "app")
		b.Helm(h, "uninstall", "app")
		creation.arrives(http.StatusCreated)
		b.Until("what came late is taken back", func() (any, bool) {
			return "it exists", b.Get(kit.ConfigMaps, "app") == nil
		})
	})
}

// Helm begins to work and the write is carried out between two reads of the operator. A record read before the object
// would falsely prove the write.
func TestI1_LostRevertIsLookedForBeforeTheRecordIsRead(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	revert := b.losing(isRevert("configmaps", http.MethodPatch))
	b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"two"}}`)
	revert.wait()
	look := b.Proxy.HoldRequests(func(r *http.Request) bool { return isLook(r.Method, r.URL.Path) })
	b.WaitHeld(look, 1)
	b.Forge(pendingWith("two", 2, "failed"))
	revert.arrives(http.StatusOK)
	b.wantValue("app", "one")
	look.Release()
	b.waitValue("app", "two")
	b.stays("two")
}
