package guard

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/notify"
	periods "github.com/rancher/helm-locker/pkg/period"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// canary is the value of a Secret, and drift its change.
const canary = "c4n4ry-of-evidence"

const auditedShop = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: {{ .Values.key | default "declared" }}}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: ` + canary + `}
`

// audit is a list of changes with the expected lines of a report.
type audit struct {
	*trusting
	dir     string
	account *rest.Config
	sink    *kit.Operator
	steps   []auditStep
}

// auditStep is one thing that was done, in a time.
type auditStep struct {
	from, until time.Time
	want        string
}

// step does something, of which the report has to have an entry with a time in between.
func (a *audit) step(want string, do func()) {
	a.Helper()
	s := auditStep{from: time.Now(), want: want}
	do()
	s.until = time.Now()
	a.Logf("%s: %s", s.until.Sub(s.from), want)
	a.steps = append(a.steps, s)
}

func (a *audit) startSink() {
	a.Helper()
	began := time.Now()
	a.sink = kit.StartSink(a, a.account, a.Operator, notify.EvidenceOptions{Directory: a.dir, Cluster: "prod"})
	a.waits("the sink is connected", func(r *periods.Report) bool {
		n := len(r.Gaps) // the last one is from the last sign of life until now
		return n > 0 && r.Gaps[n-1].From.After(began) && len(r.Releases) > 0
	})
}

// report returns the report until a time.
func (a *audit) report(dir string, until time.Time) (*periods.Report, error) {
	b := periods.NewBuilder(a.steps[0].from, until)
	chain, err := evidence.Read(os.DirFS(dir), func(l *evidence.Line) error {
		b.Add(l)
		return nil
	})
	if err == nil {
		b.AddChain("evidence", chain)
	}
	return b.Report(), err
}

// waits waits until the report of now has something.
func (a *audit) waits(what string, has func(*periods.Report) bool) {
	a.Helper()
	a.Until(what, func() (any, bool) {
		r, err := a.report(a.dir, time.Now())
		return err, err == nil && has(r)
	})
}

// wrote waits until a line is on the disk, behind lines of other kinds, in their order. The report has it as soon as a
// line proves its time.
func (a *audit) wrote(what string, kinds ...func(*evidence.Line) bool) {
	a.Helper()
	a.Until("the evidence has "+what, func() (any, bool) {
		left := kinds
		_, err := evidence.Read(os.DirFS(a.dir), func(l *evidence.Line) error {
			if len(left) > 0 && left[0](l) {
				left = left[1:]
			}
			return nil
		})
		return err, len(left) == 0
	})
}

func pauses(l *evidence.Line) bool { return l.Data.Pause != nil }

func gaps(l *evidence.Line) bool { return l.Data.Gap != nil }

func of(r *periods.Report, name string) *periods.Release {
	for i := range r.Releases {
		if r.Releases[i].Name == name {
			return &r.Releases[i]
		}
	}
	return &periods.Release{}
}

// as returns the arguments of kubectl for a user who may do everything.
func as(user string, args ...string) []string {
	return append(args, "--as="+user, "--as-group=system:masters")
}

// change lets a user change the shop's settings, and waits for the revert.
func (a *audit) change(user string) {
	a.Helper()
	a.step("Reverted ConfigMap settings modified /data/key "+user+"-tool", func() {
		a.passes(as(user, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"key":"mine"}}`,
			"--field-manager="+user+"-tool", "-o", "name")...)
		a.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	})
}

func (a *audit) helm(user string, args ...string) {
	a.Helper()
	a.Helm(kit.Shared.Helm4(), append(args, "--kube-as-user", user, "--kube-as-group", "system:masters")...)
}

// A report of a period lists the changes with their users, their times and the decisions.
func TestEvidence_TheReportIsWhatWasDone(t *testing.T) {
	a := &audit{trusting: newTrusting(t, kit.Events, witnessed), dir: t.TempDir()}
	a.account = a.EvidenceReader("sink")
	a.trusting.inForce()
	a.track("shop")
	a.step("start", func() {})
	a.startSink()
	chart := a.Chart("shop", auditedShop)
	a.step("Locked 1", func() {
		a.helm("alice", "install", "shop", chart)
		a.WaitReady("shop", 1)
	})
	a.Until("the writer is known", func() (any, bool) {
		trust := a.HelmRelease("shop").Status.Trust
		return trust, trust != nil && trust.Writer == "alice"
	})
	a.change("carol")
	a.sink.Stop() // for a while, in which the operator keeps its events
	a.change("dave")
	a.startSink()
	a.step("Reverted Secret password modified /data/password mallory", func() {
		a.passes(as("mallory", "patch", "secret", "password", "--type=merge", "-p", `{"stringData":{"password":"`+canary+`-2"}}`,
			"--field-manager=mallory", "-o", "name")...)
		a.wrote("the revert of the Secret", func(l *evidence.Line) bool {
			return l.Data.Drift != nil && l.Data.Drift.FieldManager == "mallory"
		})
	})
	a.step("Locked 2", func() {
		a.helm("bob", "upgrade", "shop", chart, "--set", "key=declared", "--description", "second")
		a.WaitReady("shop", 2)
	})
	a.guarded(kit.Shared.Helm4(), "bank", kit.ConfigMap("vault", "declared"))
	a.fixture.inForce(kit.ConfigMaps, "vault")
	a.step("Denied ConfigMap vault modified /data/key erin", func() {
		_, complaint := a.kubectl(as("erin", "patch", "configmap", "vault", "--type=merge", "-p", `{"data":{"key":"mine"}}`)...)
		check.That(t, strings.Contains(complaint, "denied"), "the request is not denied: %s", complaint)
		a.Until("the denied request is in the status", func() (any, bool) {
			all := a.HelmRelease("bank").Status.RecentDrift
			return all, slices.ContainsFunc(all, func(r v1alpha1.DriftRecord) bool { return r.User == "erin" })
		})
	})
	a.step("Paused INC-42", func() {
		a.PatchHelmRelease("shop", `{"metadata":{"annotations":{"`+v1alpha1.SuspendReasonAnnotation+`":"INC-42"}},"spec":{"suspend":true}}`)
		a.wrote("the reason of the pause", func(l *evidence.Line) bool {
			p := l.Data.Pause
			return p != nil && p.Reason == "INC-42" && l.Data.Lock.Reason == v1alpha1.ReasonSuspended
		})
	})
	a.step("Locked 2", func() {
		a.PatchHelmRelease("shop", `{"spec":{"suspend":null}}`)
		a.wrote("the lock after the pause", pauses, func(l *evidence.Line) bool {
			return l.Type == message.LockChanged && l.Data.Lock.Locked
		})
		a.WaitReady("shop", 2)
	})
	a.change("dave")
	a.step("Unknown OperatorStopped; Locked 2", func() {
		a.Running.Stop()
		a.startServed(witnessed, kit.Events)
		a.WaitReady("shop", 2)
		a.wrote("the state after the gap", gaps, func(l *evidence.Line) bool {
			return l.Type == evidence.StateRead && l.Data.Release.Name == "shop" && l.Data.Lock.Locked
		})
	})
	a.change("carol")
	a.wrote("the last change", gaps, func(l *evidence.Line) bool {
		return l.Data.Drift != nil && l.Data.Drift.FieldManager == "carol-tool"
	})
	a.sink.Stop()
	a.compare()
}

// entry is a line of a report.
type entry struct {
	at   time.Time
	text string
}

// compare compares the report with the steps, and each time with that of the step.
func (a *audit) compare() {
	a.Helper()
	r, err := a.report(a.dir, time.Now())
	check.NoError(a, err)
	var states, changes []entry
	shop := of(r, "shop")
	for i, v := range shop.Intervals {
		text := string(v.State) + " "
		switch {
		case v.State == periods.NotLocked, v.State == periods.Unknown && (i < 2 || i == len(shop.Intervals)-1):
			continue // Helm at work; before the first line, and after the last one
		case v.State == periods.Locked:
			text += fmt.Sprint(v.Revision)
		case v.State == periods.Paused && v.Pause != nil:
			text += v.Pause.Reason
		default:
			text += v.Reason
		}
		states = append(states, entry{v.From, text})
	}
	for i := range r.Releases {
		for _, c := range r.Releases[i].Changes {
			object := strings.ReplaceAll(c.Object, a.Apps+"/", "")
			text := fmt.Sprintf("%s %s %s %s %s", c.Action, object, strings.ToLower(c.Operation), strings.Join(c.Paths, ","),
				c.Manager+c.User)
			if object == "ConfigMap vault" && c.Paths[0] != "/data/key" {
				continue // the wait for the guard
			}
			changes = append(changes, entry{c.Time, text})
		}
	}
	var wantStates, wantChanges []auditStep
	for _, s := range a.steps[1:] {
		for _, want := range strings.Split(s.want, "; ") {
			s.want = want
			if strings.Contains(want, "/") {
				wantChanges = append(wantChanges, s)
			} else {
				wantStates = append(wantStates, s)
			}
		}
	}
	slices.SortStableFunc(changes, func(x, y entry) int { return x.at.Compare(y.at) })
	a.equal(states, wantStates)
	a.equal(changes, wantChanges)
	var writers []string
	for _, v := range shop.Revisions {
		writers = append(writers, fmt.Sprint(v.Revision, " ", v.Writer))
	}
	if !slices.Equal(writers, []string{"1 alice", "2 bob"}) {
		a.Errorf("the revisions are %q", writers)
	}
	a.sealed(r)
}

func (a *audit) equal(got []entry, want []auditStep) {
	a.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			a.Errorf("the report lacks %q", want[i].want)
		case i >= len(want):
			a.Errorf("the report has %q at %s, which was not done", got[i].text, got[i].at)
		case got[i].text != want[i].want:
			a.Errorf("the report has %q at %s, want %q", got[i].text, got[i].at, want[i].want)
		case got[i].at.Before(want[i].from.Add(-time.Second)) || got[i].at.After(want[i].until.Add(time.Second)):
			a.Errorf("%q is at %s, want %s to %s", got[i].text, got[i].at, want[i].from, want[i].until)
		}
	}
}

// sealed expects no value of a Secret in any format, a whole chain, and an error for a changed line.
func (a *audit) sealed(r *periods.Report) {
	a.Helper()
	var all bytes.Buffer
	for _, write := range []func(io.Writer) error{r.Markdown, r.CSV, func(to io.Writer) error { return r.Text(to, 0) },
		func(to io.Writer) error { return r.HTML(to, "", "") }} {
		check.NoError(a, write(&all))
	}
	names, err := evidence.Files(os.DirFS(a.dir))
	check.NoError(a, err)
	text, err := os.ReadFile(filepath.Join(a.dir, names[0]))
	check.NoError(a, err)
	all.Write(text)
	for _, secret := range []string{canary, "YzRuNHJ5"} {
		if strings.Contains(all.String(), secret) {
			a.Error("the value of a Secret is in the evidence, or in the report")
		}
	}
	if r.Chains[0].Broken != "" || r.Chains[0].Begins != "" {
		a.Errorf("the chain is %+v", r.Chains[0])
	}
	forged, at := a.TempDir(), bytes.Index(text, []byte("carol-tool"))
	check.NoError(a, os.WriteFile(filepath.Join(forged, names[0]),
		bytes.Replace(text, []byte("carol-tool"), []byte("dave-tool!"), 1), 0o600))
	found, err := a.report(forged, time.Now())
	check.NoError(a, err)
	want := fmt.Sprintf("%s, line %d: it does not follow the line before it", names[0], bytes.Count(text[:at], []byte("\n"))+2)
	if found.Chains[0].Broken != want {
		a.Errorf("the break is %q, want %q", found.Chains[0].Broken, want)
	}
}
