package guard

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// inbox is a receiver of notifications.
type inbox struct {
	url      string
	messages chan map[string]any
}

func newInbox(t *testing.T) inbox {
	t.Helper()
	in := inbox{messages: make(chan map[string]any, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.Report(t, err)
		var m map[string]any
		check.Report(t, json.Unmarshal(body, &m))
		in.messages <- m
	}))
	t.Cleanup(server.Close)
	in.url = server.URL
	return in
}

// denial returns the drift of the next message about a denied request with an operation.
func (in inbox) denial(t *testing.T, operation v1alpha1.DriftOperation) map[string]any {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case m := <-in.messages:
			if m["type"] != string(message.DriftDenied) {
				continue
			}
			data, _ := m["data"].(map[string]any)
			if drift, _ := data["drift"].(map[string]any); drift["operation"] == string(operation) {
				return drift
			}
		case <-timeout:
			t.Fatal("no message about the denial")
		}
	}
}

// A denied request is a message, with its user and the fields that were to change. A receiver of other namespaces gets
// none.
func TestADenialIsNotified(t *testing.T) {
	t.Parallel()
	f := newFixture(t, kit.Events)
	all, others := newInbox(t), newInbox(t)
	kit.StartNotifier(t, f.Reader("notifier"), f.Operator, all.url, others.url+"#namespace=other-*")
	f.guarded(kit.Shared.Helm3(), "shop", kit.ConfigMap("settings", "declared"))
	f.inForce(kit.ConfigMaps, "settings")
	f.refused(kit.ConfigMaps, "settings", "helm-locker: ", "patch", "configmap", "settings", "--type=merge", "-p",
		`{"data":{"key":"denied"}}`)
	drift := all.denial(t, v1alpha1.DriftModified)
	check.That(t, drift["user"] != "" && drift["user"] != nil && drift["action"] == "Denied" && drift["paths"] != nil,
		"the message has the drift %v", drift)
	check.That(t, len(others.messages) == 0, "the receiver of other namespaces got a message")
}

// The stream is that of the leader. A standby keeps its denials, and they are messages once it leads.
func TestAStandbysDenialIsNotifiedWhenItLeads(t *testing.T) {
	t.Parallel()
	elected := func(o *operator.ControllerOptions) { kit.Events(o); o.LeaderElection = true }
	f := newFixture(t, elected)
	all := newInbox(t)
	kit.StartNotifier(t, f.Reader("notifier"), f.Operator, all.url)
	f.guarded(kit.Shared.Helm3(), "shop", kit.ConfigMap("settings", "declared"))
	f.inForce(kit.ConfigMaps, "settings")
	leader := f.Running
	f.startServed(elected)
	f.Until("the standby refuses", func() (any, bool) {
		_, said := f.kubectl("delete", "configmap", "settings") // which the leader was not asked about
		return said, strings.Contains(said, "denied the request")
	})
	denied := time.Now()
	leader.Stop()
	drift := all.denial(t, v1alpha1.DriftDeleted)
	text, _ := drift["time"].(string)
	at, err := time.Parse(time.RFC3339, text)
	check.That(t, err == nil && !at.After(denied) && drift["action"] == "Denied",
		"%v: the message has the drift %v, and the standby denied before %s", err, drift, denied)
}
