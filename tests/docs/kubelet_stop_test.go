package docs

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A Pod can be deleted, and a page can end, while the kubelet is about to start the Pod's program. A program started
// after that would never be stopped.
func TestKubeletStartsNothingForAPodThatHasEnded(t *testing.T) {
	for _, c := range []struct {
		name    string
		end     func(k *kubelet, uid types.UID)
		started int
	}{
		{"goes on", func(*kubelet, types.UID) {}, 1},
		{"Pod deleted", func(k *kubelet, uid types.UID) { k.stop(uid) }, 0},
		{"another Pod deleted", func(k *kubelet, _ types.UID) { k.stop("another") }, 1},
		{"page at its end", func(k *kubelet, _ types.UID) { k.stopAll() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKubelet("sleep", t.TempDir(), func(err error) { t.Error(err) })
			const uid = types.UID("pod")
			c.end(k, uid)
			check.NoError(t, k.launch(uid, []string{"1h"}, nil, filepath.Join(k.dir, "log")))
			n := len(k.running())
			check.That(t, n == c.started, "%d programs run, want %d", n, c.started)
			k.stopAll()
			k.wg.Wait()
		})
	}
}
