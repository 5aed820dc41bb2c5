package observability

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	leases "github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A restarted notifier sends the events of its absence, and nothing twice.
func TestNotificationsGoOnWhereTheyWere(t *testing.T) {
	inbox := newInbox(t)
	w := newFixture(t, kit.Events)
	reader := w.Reader("notifier")
	notifier := kit.StartNotifier(t, reader, w.Operator, inbox.url)
	w.Forged("app", kit.Declared("before", "between", "after"))
	inbox.waitLock(w, v1alpha1.ReasonLocked)
	w.tamper("before", "x")
	inbox.wait(w, message.DriftReverted, "before", drifted("before"))
	notifier.Stop()

	w.tamper("between", "x")
	w.restored("between")
	kit.StartNotifier(t, reader, w.Operator, inbox.url)
	inbox.wait(w, message.DriftReverted, "between", drifted("between"))
	w.tamper("after", "x")
	inbox.wait(w, message.DriftReverted, "after", drifted("after"))
	inbox.eachOnce(w)
	lost := inbox.of(message.MessagesWereLost)
	check.That(t, len(lost) == 0, "messages about losses: %+v", lost)
}

// eachOnce checks that no event arrived twice.
func (i *inbox) eachOnce(w *fixture) {
	w.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	seen := map[string]bool{}
	for _, e := range i.events {
		if seen[e.ID] {
			w.Errorf("%s of type %s came twice", e.ID, e.Type)
		}
		seen[e.ID] = true
	}
}

// A notifier that was down during a change of leaders misses the last events of the old one, and reports that.
func TestAGapBetweenLeadersIsNotified(t *testing.T) {
	inbox := newInbox(t)
	options := func(o *operator.ControllerOptions) {
		kit.Events(o)
		o.LeaderElection = true
	}
	w := newFixture(t, options)
	w.WaitLog(w.Running, "level=info msg=leading")
	standby := w.start(options)
	reader := w.Reader("notifier")
	notifier := kit.StartNotifier(t, reader, w.Operator, inbox.url)
	w.Forged("app", kit.Declared("settings", "unseen"))
	inbox.waitLock(w, v1alpha1.ReasonLocked)
	notifier.Stop()
	w.tamper("unseen", "x")
	w.restored("unseen")

	w.Running.Stop()
	w.Running = standby
	w.WaitLog(standby, "level=info msg=leading")
	kit.StartNotifier(t, reader, w.Operator, inbox.url)
	inbox.wait(w, message.MessagesWereLost, "by the first operator", func(e event) bool { return e.Data.Lost.Unknown })
	w.tamper("settings", "x")
	inbox.wait(w, message.DriftReverted, "by the second operator", drifted("settings"))
	n := len(inbox.of(message.MessagesWereLost))
	check.That(t, n == 1, "%d messages about one gap", n)
}

// The maximum number of readers that do not read, and a receiver without an answer: drift is reverted as usual.
func TestHostile_FrozenReadersDelayNoRevert(t *testing.T) {
	inbox := newInbox(t)
	w := newFixture(t, kit.Events)
	w.Forged("app", kit.Declared("settings"))
	w.notify(inbox.url)
	inbox.waitLock(w, v1alpha1.ReasonLocked)
	for _, name := range []string{"one", "two", "three"} {
		token := w.Reader(name).BearerToken
		for range 2 {
			w.ask(token)
		}
	}
	for round := range 20 {
		w.tamper("settings", fmt.Sprint(round))
		w.restored("settings")
	}
	w.Eventually("every revert is notified", func() error {
		if n := len(inbox.of(message.DriftReverted)); n < 20 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
}

// ask asks for the events where the Lease announces them, and reads nothing of the answer but its status.
func (w *fixture) ask(token string) (status int) {
	w.Helper()
	announced, err := w.Kube.CoordinationV1().Leases(w.Operator).Get(w.Ctx, w.Operator, metav1.GetOptions{})
	check.NoError(w, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(announced.Annotations[leases.EventsCertificate]))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: leases.EventsHost}}}
	request, err := http.NewRequestWithContext(w.Ctx, http.MethodGet,
		"https://"+announced.Annotations[leases.EventsAddress]+leases.EventsPath, nil)
	check.NoError(w, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	check.NoError(w, err)
	w.Cleanup(func() { _ = response.Body.Close() })
	return response.StatusCode
}

// The leader serves the events to users with the right to get the path; a standby names the leader.
func TestHostile_EventsAreForUsersWithTheRight(t *testing.T) {
	w := newFixture(t, kit.Events)
	w.Eventually("the events are announced", func() error {
		_, err := w.Kube.CoordinationV1().Leases(w.Operator).Get(w.Ctx, w.Operator, metav1.GetOptions{})
		return err
	})
	w.Account(w.Operator, "stranger")
	stranger, err := w.Cluster.ServiceAccountConfig(w.Ctx, w.Operator, "stranger")
	check.NoError(t, err)
	for token, want := range map[string]int{
		w.Reader("reader").BearerToken: http.StatusOK, stranger.BearerToken: http.StatusForbidden,
		"nonsense": http.StatusUnauthorized,
	} {
		check.Equal(t, w.ask(token), want, "answered with")
	}
}
