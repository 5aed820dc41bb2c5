package guard

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A denied request is a message, with its user and the fields that were to change. A receiver of other namespaces gets
// none.
func TestADenialIsNotified(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kit.Events)
	inbox := func() (url string, messages chan map[string]any) {
		messages = make(chan map[string]any, 100)
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			check.Report(t, err)
			var m map[string]any
			check.Report(t, json.Unmarshal(body, &m))
			messages <- m
		}))
		t.Cleanup(server.Close)
		return server.URL, messages
	}
	all, received := inbox()
	others, unwanted := inbox()
	kit.StartNotifier(t, f.Reader("notifier"), f.Operator, all, others+"#namespace=other-*")
	f.guarded(kit.Shared.Helm3(), "shop", kit.ConfigMap("settings", "declared"))
	f.inForce(kit.ConfigMaps, "settings")
	f.refused(kit.ConfigMaps, "settings", "helm-locker: ", "patch", "configmap", "settings", "--type=merge", "-p",
		`{"data":{"key":"denied"}}`)
	timeout := time.After(time.Minute)
	for {
		select {
		case m := <-received:
			if m["type"] != string(message.DriftDenied) {
				continue
			}
			drift, _ := m["data"].(map[string]any)["drift"].(map[string]any)
			if drift["user"] == "" || drift["user"] == nil || drift["action"] != "Denied" || drift["paths"] == nil {
				t.Errorf("the message has the drift %v", drift)
			}
			if len(unwanted) > 0 {
				t.Errorf("the receiver of other namespaces got %v", <-unwanted)
			}
			return
		case <-timeout:
			t.Fatal("no message about the denial")
		}
	}
}
