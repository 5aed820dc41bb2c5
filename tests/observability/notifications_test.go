package observability

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// event is a CloudEvent as a receiver of it sees it.
type event struct {
	SpecVersion, ID, Source, Subject string
	Type                             message.Type
	Time                             time.Time
	Data                             message.Message
}

// inbox is a receiver that keeps all messages.
type inbox struct {
	t   testing.TB
	url string

	mu     sync.Mutex
	events []event
	raw    strings.Builder
}

func newInbox(t testing.TB) *inbox {
	i := &inbox{t: t}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.url = strings.Replace(server.URL, "http://", "http://somebody:pa55word@", 1) + "/hooks/t0ken?key=qu3ry"
	return i
}

func (i *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	check.Report(i.t, err)
	var e event
	err = json.Unmarshal(body, &e)
	check.That(i.t, err == nil, "%v: %s", err, body)
	user, password, ok := r.BasicAuth()
	check.That(i.t, ok && user == "somebody" && password == "pa55word" && r.URL.RequestURI() == "/hooks/t0ken?key=qu3ry",
		"a request for %s by %s", r.URL, user)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.events = append(i.events, e)
	i.raw.Write(body)
}

// of returns the events of a type so far.
func (i *inbox) of(kind message.Type) []event {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []event
	for _, e := range i.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

func (i *inbox) text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.raw.String()
}

// wait waits for a wanted event of a type, and returns it.
func (i *inbox) wait(w *fixture, kind message.Type, what string, wanted func(event) bool) (found event) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s: %s", kind, what), func() error {
		all := i.of(kind)
		for _, e := range all {
			if wanted(e) {
				found = e
				return nil
			}
		}
		return fmt.Errorf("of that type there are %d", len(all))
	})
	return found
}

func (i *inbox) waitLock(w *fixture, reason string) message.Lock {
	w.Helper()
	return *i.wait(w, message.LockChanged, reason, func(e event) bool {
		return e.Data.Lock != nil && e.Data.Lock.Reason == reason
	}).Data.Lock
}

func drifted(name string) func(event) bool {
	return func(e event) bool { return e.Data.Drift != nil && e.Data.Drift.Object.Name == name }
}

const declaredSecret, intrudedSecret = "sw0rdfish-declared", "haddock-intruded"

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// A receiver gets drift, locks and fights as the status has them, in CloudEvents, without a value of a Secret.
func TestNotifications(t *testing.T) {
	inbox := newInbox(t)
	// Another receiver never answers. Nothing waits for it.
	held := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	t.Cleanup(dead.Close)
	w := newFixture(t, kit.Events)
	w.notify(dead.URL, inbox.url)

	w.Forged("app", kit.Declared("settings", "refused", "contested")+
		fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: credentials}\nstringData: {password: %s}\n",
			declaredSecret))
	lock := inbox.waitLock(w, v1alpha1.ReasonLocked)
	check.That(t, lock.Locked && lock.Revision == 1 && lock.State == v1alpha1.StateDeployed, "lock is %+v", lock)

	w.Patch(kit.Secrets, "credentials", fmt.Sprintf(`{"data":{"password":%q}}`, encoded(intrudedSecret)))
	w.WaitField(kit.Secrets, "credentials", "data.password", encoded(declaredSecret))
	w.sameAsStatus(inbox.wait(w, message.DriftReverted, "the Secret", drifted("credentials")))
	w.Delete(kit.Secrets, "credentials")
	w.sameAsStatus(inbox.wait(w, message.DriftRecreated, "the Secret", drifted("credentials")))

	accept := w.refuse("refused", "the policy does not like "+declaredSecret)
	w.tamper("refused", "x")
	w.sameAsStatus(inbox.wait(w, message.DriftRefused, "the ConfigMap", drifted("refused")))
	accept()
	w.restored("refused")

	w.fight("contested")
	fight := inbox.wait(w, message.ContentionBegan, "the ConfigMap", func(event) bool { return true })
	c := fight.Data.Contention
	check.That(t,
		c.FieldManager == kit.Tamperer && c.Object.Name == "contested" && fmt.Sprint(c.Paths) == "[/data/key]",
		"contention is %+v", c)

	w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	lock = inbox.waitLock(w, v1alpha1.ReasonSuspended)
	check.That(t, !lock.Locked && lock.Revision == 0, "lock is %+v", lock)
	w.DeleteHelmRelease("app")
	inbox.waitLock(w, v1alpha1.EventReasonUntracked)

	close(held)
	w.Running.Stop()
	for _, value := range []string{declaredSecret, intrudedSecret} {
		for _, form := range []string{value, encoded(value), value[:8], encoded(value)[:8]} {
			if strings.Contains(inbox.text(), form) {
				t.Errorf("a notification has %q: %s", form, inbox.text())
			}
		}
	}
	for _, secret := range []string{"pa55word", "t0ken", "qu3ry"} {
		check.That(t, !strings.Contains(w.Running.Log()+w.notifier.Log(), secret), "the log has %s, of the URL", secret)
	}
	n := len(inbox.of(message.ContentionBegan))
	check.That(t, n == 1, "%d messages for one fight", n)
	n = len(inbox.of(message.DriftRefused))
	check.That(t, n == 1, "%d messages for one refusal", n)
}

// sameAsStatus checks that an event is about the release and contains a complete entry of status.recentDrift.
func (w *fixture) sameAsStatus(e event) {
	w.Helper()
	if e.SpecVersion != "1.0" || e.ID == "" || e.Source != "/apis/helm.cattle.io/v1alpha1/namespaces/"+w.Operator+
		"/helmreleases/app" ||
		e.Subject != e.Data.Drift.Object.String() ||
		*e.Data.Release != (message.Reference{Namespace: w.Apps, Name: "app"}) ||
		*e.Data.HelmRelease != (message.Reference{Namespace: w.Operator, Name: "app"}) {
		w.Errorf("event is %+v", e)
	}
	asJSON := func(r v1alpha1.DriftRecord) string {
		text, err := json.Marshal(r)
		check.NoError(w, err)
		return string(text)
	}
	want := asJSON(*e.Data.Drift)
	w.Eventually("status.recentDrift has "+want, func() error {
		for _, r := range w.HelmRelease("app").Status.RecentDrift {
			if asJSON(r) == want {
				return nil
			}
		}
		return fmt.Errorf("it has not")
	})
}

// Two replicas observe the same drift. The leader sends it; its successor sends nothing again.
func TestOnlyTheLeaderTells(t *testing.T) {
	inbox := newInbox(t)
	options := func(o *operator.ControllerOptions) {
		kit.Events(o)
		o.LeaderElection = true
	}
	w := newFixture(t, options)
	w.notify(inbox.url)
	w.WaitLog(w.Running, "level=info msg=leading")
	standby := w.start(options)
	w.Forged("app", kit.Declared("settings"))
	w.PatchHelmRelease("app", `{"spec":{"mode":"Detect"}}`)
	inbox.waitLock(w, v1alpha1.ReasonDetectOnly)
	w.WaitLog(standby, "level=info msg=locked")
	w.tamper("settings", "x")
	inbox.wait(w, message.DriftReported, "the ConfigMap", drifted("settings"))
	w.WaitLog(standby, "level=info msg=reported")

	w.Running.Stop()
	w.Running = standby
	w.WaitLog(standby, "level=info msg=leading")
	w.Delete(kit.ConfigMaps, "settings")
	w.sameAsStatus(inbox.wait(w, message.DriftReported, "the second change", func(e event) bool {
		return e.ID != inbox.of(message.DriftReported)[0].ID
	})) // so the new leader has written a status
	w.PatchHelmRelease("app", `{"spec":{"mode":"Enforce"}}`)
	inbox.wait(w, message.DriftRecreated, "the ConfigMap", drifted("settings"))
	inbox.wait(w, message.LockChanged, "by the new leader", func(e event) bool {
		return e.Data.Lock.Locked && e.ID != inbox.of(message.LockChanged)[0].ID
	})
	var reasons []string
	for _, e := range inbox.of(message.LockChanged) {
		reasons = append(reasons, e.Data.Lock.Reason)
	}
	got, want := strings.Join(reasons, " "), "Locked DetectOnly Locked"
	check.That(t, got == want, "told of the lock is %s, want %s", got, want)
	n := len(inbox.of(message.DriftReported))
	check.That(t, n == 2, "%d messages for two changes", n)
	text := kit.Metrics(t, standby)
	check.That(t, regexp.MustCompile(`(?m)^helm_locker_drift_total\{action="Reported",.*\} 1$`).MatchString(text),
		"the first change is counted by both, or the second by none: %s", text)
	// For each change one on the HelmRelease, and one on the object while it exists.
	n = w.countEvents(v1alpha1.EventReasonDrifted)
	check.That(t, n == 3, "%d events", n)
}

// A HelmRelease for a release owned by another one does not report that release as unlocked.
func TestMetricsOfARelease(t *testing.T) {
	w := newFixture(t)
	w.Forged("app", kit.Declared("settings"))
	w.CreateHelmRelease("second", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "app" })
	w.WaitReason("second", v1alpha1.ConditionReady, v1alpha1.ReasonConflict)
	locked := fmt.Sprintf(`helm_locker_locked{release="app",release_namespace="%s"} 1`, w.Apps)
	text := kit.Metrics(t, w.Running)
	check.That(t, strings.Contains(text, locked), "the metrics do not say %s", locked)
	w.DeleteHelmRelease("second")
	w.WaitLog(w.Running, "no longer managing release")
	text = kit.Metrics(t, w.Running)
	check.That(t, strings.Contains(text, locked), "the metrics do not say %s any more", locked)
	w.DeleteHelmRelease("app")
	w.Until("the metrics know no release", func() (any, bool) {
		text := kit.Metrics(t, w.Running)
		return "they do", !strings.Contains(text, `release="app"`)
	})
}
