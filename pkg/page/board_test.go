package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The common part of all viewers is made once.
func TestRowsAreMadeOnceForAllViewers(t *testing.T) {
	s := serve(t)
	drifted := func(at ...time.Time) func(*v1alpha1.HelmRelease) {
		return func(hr *v1alpha1.HelmRelease) {
			for _, t := range at {
				hr.Status.RecentDrift = append(hr.Status.RecentDrift, v1alpha1.DriftRecord{
					Time: metav1.NewMicroTime(t), Object: v1alpha1.DriftedObject{Kind: "Pod", Name: "p"},
				})
			}
		}
	}
	older, newer := time.Unix(1000, 0), time.Unix(2000, 0)
	s.store.set("one", "me", drifted(older))
	first := s.events()
	s.expect(first, "operator", "")
	s.expect(first, "release", `"lastDrift":"1970-01-01T00:16:40Z"`)
	s.expect(first, "drift", `"time":"1970-01-01T00:16:40Z"`)
	s.expect(first, "listed", "1")
	s.mu.Lock()
	row := s.board.rows["locker/one"]
	row.event = "event: release\ndata: \"made once\"\n\n"
	s.board.rows["locker/one"] = row
	s.mu.Unlock()
	second := s.events()
	s.expect(second, "operator", "")
	s.expect(second, "release", "made once")
	s.expect(second, "drift", `"time":"1970-01-01T00:16:40Z"`)
	s.expect(second, "listed", "1")
	s.store.set("one", "me", drifted(newer, older))
	s.Changed("locker/one")
	for _, next := range []func() (string, string){first, second} {
		s.expect(next, "release", `"lastDrift":"1970-01-01T00:33:20Z"`)
		event, data := next()
		check.That(t, event == "drift" && strings.Count(data, `"time"`) == 1 && strings.Contains(data, "00:33:20"),
			"the time line is told more than is new: %s %s", event, data)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestTheTimeLineIsBounded(t *testing.T) {
	b := newBoard()
	at := time.Unix(1_000_000, 0)
	for i := range 10 * mostLogged {
		b.add("locker/one", v1alpha1.ReleaseReference{}, v1alpha1.DriftRecord{
			Time: metav1.NewMicroTime(at.Add(time.Duration(i*7919%(10*mostLogged)) * time.Second))})
		check.Must(t, len(b.log) <= 2*mostLogged, "%d entries are kept", len(b.log))
	}
	b.trim()
	newest := at.Add((9*mostLogged - 1) * time.Second)
	for _, l := range b.log {
		check.That(t, l.entry.Time.After(newest), "an entry of %s is kept, and newer ones are not", l.entry.Time)
	}
	check.That(t, len(b.log) == mostLogged && len(b.known) == mostLogged,
		"%d entries are kept and %d known, not the newest %d", len(b.log), len(b.known), mostLogged)
}

// An operator reports a drift, and writes it into the status a moment later: viewers are told once, and at once.
func TestADriftIsToldWithTheEventAndOnlyOnce(t *testing.T) {
	s := serve(t)
	record := v1alpha1.DriftRecord{Time: metav1.NowMicro(), Object: v1alpha1.DriftedObject{Kind: "Pod", Name: "p"},
		Action: v1alpha1.DriftActionReverted}
	event := func(namespace string) *message.Message {
		return &message.Message{Type: message.DriftReverted, Drift: &record,
			HelmRelease: &message.Reference{Namespace: namespace, Name: "one"},
			Release:     &message.Reference{Namespace: "apps", Name: "one"}}
	}
	s.Happened(event("locker")) // without viewers
	s.store.set("one", "me")
	next := s.events()
	s.expect(next, "operator", "")
	s.expect(next, "release", "locker/one")
	s.expect(next, "listed", "1")
	for _, m := range []*message.Message{nil, {Type: message.LockChanged}, event("another"), event("locker")} {
		s.Happened(m)
	}
	s.expect(next, "drift", `[{"key":"locker/one","namespace":"apps","name":"one",`)
	s.store.set("one", "me", func(hr *v1alpha1.HelmRelease) { hr.Status.RecentDrift = []v1alpha1.DriftRecord{record} })
	s.Changed("locker/one")
	s.expect(next, "release", `"lastDrift"`)
	s.store.remove("one")
	s.Changed("locker/one")
	s.expect(next, "gone", "locker/one") // and no drift before
}

func TestARowSaysWhichPolicyKeepsIt(t *testing.T) {
	controls := true
	for kind, want := range map[string]string{v1alpha1.PolicyKind: "web", "HelmRelease": ""} {
		hr := &v1alpha1.HelmRelease{}
		hr.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind,
			Name: "web", Controller: &controls}}
		check.Equal(t, rowOf(hr, time.Now()).Policy, want, "owned by a %s, the policy", kind)
	}
}

// A release whose guard is not in force needs attention, unless it is suspended.
func TestARowSaysThatTheGuardIsNotInForce(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Message: message}
	}
	locked := condition(v1alpha1.ConditionLocked, metav1.ConditionTrue, "")
	unlocked := condition(v1alpha1.ConditionLocked, metav1.ConditionFalse, "")
	ready := condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "revision 1 locked")
	for name, tc := range map[string]struct {
		spec       v1alpha1.Protection
		conditions []metav1.Condition
		message    string
	}{
		"in force": {v1alpha1.Protection{Guard: v1alpha1.GuardDeny},
			[]metav1.Condition{ready, locked, condition(v1alpha1.ConditionGuarded, metav1.ConditionTrue, "")}, ""},
		"not wanted": {v1alpha1.Protection{}, []metav1.Condition{ready, locked}, ""},
		"suspended":  {v1alpha1.Protection{Guard: v1alpha1.GuardDeny, Suspend: true}, []metav1.Condition{ready, unlocked}, ""},
		"not in force": {v1alpha1.Protection{Guard: v1alpha1.GuardWarn},
			[]metav1.Condition{ready, locked,
				condition(v1alpha1.ConditionGuarded, metav1.ConditionFalse, "no certificate")},
			"; its guard is not in force, so changes are only reverted: no certificate"},
	} {
		hr := &v1alpha1.HelmRelease{Spec: v1alpha1.HelmReleaseSpec{Protection: tc.spec},
			Status: v1alpha1.HelmReleaseStatus{Conditions: tc.conditions}}
		row := rowOf(hr, time.Now())
		check.That(t, row.Attention == (tc.message != "") && row.Message == "revision 1 locked"+tc.message,
			"%s: attention %v: %s", name, row.Attention, row.Message)
	}
}

func TestARowIsShortAndTheReleaseHasAll(t *testing.T) {
	s := serve(t)
	long := strings.Repeat("why ", 1000)
	s.store.set("one", "me", func(hr *v1alpha1.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Message: long}}
	})
	next := s.events()
	s.expect(next, "operator", "")
	_, data := next()
	check.That(t, strings.Count(data, "why ") <= mostMessage && !strings.Contains(data, "conditions"), "a row has %s",
		data)
	const path = "release?namespace=locker&name="
	got := s.ask(http.MethodGet, path+"one")
	check.That(t, got.status == http.StatusOK && strings.Contains(got.body, long), "the release is answered with %d %s",
		got.status, got.body)
	got = s.ask(http.MethodGet, path+"two")
	check.That(t, got.status == http.StatusNotFound, "what is not there is answered with %d", got.status)
}
