package guard

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// JSON escapes "<": an object of 700 KB makes a review of more than 4 MiB, and one of etcd's maximum size a review of
// 16 MiB and more. A change of declared fields is refused nevertheless, both when it makes the object large and when
// the object is large before.
func TestHostile_ReviewsFullOfEscapes(t *testing.T) {
	t.Parallel()
	// A recorded control plane stores JSON, in which such an object is too large for etcd.
	c := cluster.ForTest(t, cluster.Options{ExtraAPIServerArgs: []string{
		"--storage-media-type=application/vnd.kubernetes.protobuf"}})
	f := newFixtureOn(t, c)
	f.guarded(c.Helm3(), "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	tamper := func(what string, data string) {
		t.Helper()
		f.Until("it is refused in time: "+what, func() (any, bool) { // a busy machine may need some attempts
			f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
			err := f.TryPatch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"`+data+`}}`)
			return err, err != nil && strings.Contains(err.Error(), "helm-locker: ")
		})
	}
	for _, size := range []int{700 << 10, 1000 << 10} { // a ConfigMap has at most 1 MiB
		pad := strings.Repeat("<", size)
		tamper(fmt.Sprintf("it adds %d KiB", size>>10), `,"pad":"`+pad+`"`)
		f.Patch(kit.ConfigMaps, "settings", `{"data":{"pad":"`+pad+`"}}`)
		tamper(fmt.Sprintf("it has %d KiB", size>>10), "")
		tamper(fmt.Sprintf("it has %d KiB, which go", size>>10), `,"pad":null`)
		f.Patch(kit.ConfigMaps, "settings", `{"data":{"pad":null}}`)
	}
}

// I12: the guard cannot decide on the requests of 48 writers at once in one namespace. These requests pass, and open
// the guard to nobody else: a change in another namespace is refused while all of them hold or want slots.
func TestHostile_ManyWritersAtOnce(t *testing.T) {
	// More than the 32 slots for reviews of this size, and few enough for a busy machine to connect within the timeout.
	// Their decisions have no end before it.
	const writers, timeout = 48, 1500 * time.Millisecond
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", fmt.Sprintf(`{{ range until %d }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings-{{ . }}}
data: {key: declared}
{{ end }}`, writers))
	victim := *f
	victim.Fixture = &kit.Fixture{Env: f.For(t), Proxy: f.Proxy, Running: f.Running}
	victim.Apps = f.Namespace(f.Apps + "-victim")
	victim.guarded(kit.Shared.Helm3(), "small", kit.ConfigMap("small", "declared"))
	f.inForce(kit.ConfigMaps, "settings-0")
	victim.inForce(kit.ConfigMaps, "small")
	config := rest.CopyConfig(kit.Shared.RESTConfig())
	config.QPS, config.NextProtos = -1, []string{"http/1.1"} // no bound of requests under way
	client, err := dynamic.NewForConfig(config)
	check.NoError(t, err)
	f.Until("a change in another namespace is refused meanwhile", func() (any, bool) { // at the pace of the machine
		// The decisions about the first release wait for its record. Between two floods its reverts can be proven.
		held := f.Proxy.HoldRequests(func(r *http.Request) bool {
			return isCheck(r) && strings.Contains(r.URL.Path, "/namespaces/"+f.Apps+"/")
		})
		defer held.Release()
		f.front.to(f.guardAddress(f.Running)) // no connection is used again: each review has its own
		before := f.front.accepted.Load()
		var flood sync.WaitGroup
		defer flood.Wait()
		begun := time.Now()
		for i := range writers {
			flood.Go(func() {
				_, err := client.Resource(kit.ConfigMaps).Namespace(f.Apps).Patch(f.Ctx, fmt.Sprintf("settings-%d", i),
					types.MergePatchType, fmt.Appendf(nil, `{"data":{"key":"tampered %d"}}`, before), metav1.PatchOptions{})
				check.Report(t, err)
			})
		}
		f.Until("the requests are under way", func() (any, bool) {
			n := f.front.accepted.Load() - before
			return n, n >= writers-8 // some may still find a connection that is about to close
		})
		_, err := f.In(kit.ConfigMaps, victim.Apps).Patch(f.Ctx, "small", types.MergePatchType,
			fmt.Appendf(nil, `{"data":{"key":"tampered %d"}}`, before), metav1.PatchOptions{})
		took := time.Since(begun) // no slot of the flood was released before its timeout
		return []any{took, err}, err != nil && strings.Contains(err.Error(), "helm-locker: ") && took < timeout
	})
}
