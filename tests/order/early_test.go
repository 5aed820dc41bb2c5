package order

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/tests/cluster"
	"github.com/rancher/helm-locker/tests/kit"
)

// The operator begins to write while it asks for the newest record, which takes too long: what has begun comes to nothing, and is done again
// when the record was read.
func TestI1_WriteBegunBeforeItsCheckHasPassed(t *testing.T) {
	for name, h := range helms() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, enforce.Omit{})
			b.installed(h, oneValue, "one")
			b.proxy.Reset()
			check := b.proxy.HoldRequests(isCheck)
			defer check.Release()
			b.tamper(kit.ConfigMaps, "app", types.MergePatchType, `{"data":{"value":"tampered"}}`)
			b.held(check, 1)
			var begun []cluster.Request
			b.Eventually("what has begun is refused", func() error {
				if begun = b.writes(); len(begun) != 1 || begun[0].Code != http.StatusBadRequest {
					return fmt.Errorf("writes: %v", begun)
				}
				return nil
			})
			if body := begun[0].Body; !bytes.HasPrefix(body, []byte(`"withdrawn by helm-locker`)) {
				t.Errorf("it said %q", body)
			}
			b.wantValue("app", "tampered")
			check.Release()
			b.waitValue("app", "one")
			if w := b.landed(); len(w) != 1 || w[0].Query.Get("fieldManager") != begun[0].Query.Get("fieldManager") {
				t.Errorf("writes: %v", b.writes())
			}
		})
	}
}
