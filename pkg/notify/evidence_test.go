package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// keeper is a sink whose steps a test makes.
type keeper struct {
	*sink
	t     *testing.T
	dir   string
	clock *clocktesting.FakeClock
	asked int
}

func newKeeper(t *testing.T, dir string, by *clocktesting.FakeClock) *keeper {
	t.Helper()
	s, err := newSink(EvidenceOptions{Directory: dir, Cluster: "prod"}, by, fixture.Quiet())
	check.NoError(t, err)
	k := &keeper{sink: s, t: t, dir: dir, clock: by}
	s.ask = func(bool) { k.asked++ }
	return k
}

func at(transition, sequence int64) message.Position {
	return message.Position{Lease: "uid", Transition: transition, Sequence: sequence}
}

// minute lets a minute with signs of life pass.
func (k *keeper) minute() {
	k.clock.Step(time.Minute)
	k.Alive("locker")
	k.flush()
	k.write(k.proof())
}

func (k *keeper) drift(at message.Position, name string) {
	m := drifted(name)
	m.Time = k.clock.Now()
	k.Handle("locker", at, m, nil)
	k.flush()
}

func (k *keeper) connect(from message.Position) {
	k.Connected("locker", from)
	k.flush()
}

// expect compares the lines since the last call, without those of states, and returns them.
func (k *keeper) expect(want ...string) {
	k.t.Helper()
	var got []string
	clock := func(t time.Time) string { return t.Format("15:04:05") }
	chain, err := evidence.Read(os.DirFS(k.dir), func(l *evidence.Line) error {
		switch d := l.Data; {
		case d.Watched != nil:
			got = append(got, fmt.Sprintf("watched %s-%s", clock(d.Watched.From), clock(d.Watched.Until)))
		case d.Gap != nil:
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s-%s %d", d.Gap.Reason, clock(d.Gap.From),
				clock(d.Gap.Until), d.Gap.Count), " 0"))
		case d.Drift != nil:
			got = append(got, d.Drift.Object.Name)
		case d.Lost != nil:
			got = append(got, "lost")
		}
		return nil
	})
	check.NoError(k.t, err)
	text, all := strings.Join(got, "\n"), strings.Join(want, "\n")
	check.That(k.t, text == all && chain.Broken == "", "broken: %q; the lines are\n%s\nwant\n%s", chain.Broken, text, all)
}

func midnight() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
}

// All times in which the sink did not read, or could not write, are gaps, unless the operator kept the events.
func TestEvidence_EachGapIsALine(t *testing.T) {
	by := midnight()
	dir := t.TempDir()
	k := newKeeper(t, dir, by)
	k.connect(at(1, 0))
	k.drift(at(1, 1), "a")
	k.minute()
	by.Step(time.Minute) // no sign of life
	k.connect(at(1, 1))  // and nothing was missed
	k.drift(at(1, 2), "b")
	k.minute()
	by.Step(time.Minute)
	k.connect(at(1, 2)) // now the operator has not kept all events
	k.Handle("locker", at(1, 7), &message.Message{Type: message.MessagesWereLost, Lost: &message.Lost{Count: 5}}, nil)
	k.flush()
	k.drift(at(1, 8), "c")
	k.minute()

	by.Step(time.Minute) // this process is killed, and the next one reads the last seconds again
	check.NoError(t, k.log.Close())
	k = newKeeper(t, dir, by)
	k.connect(at(1, 7))
	k.drift(at(1, 8), "c")
	k.drift(at(1, 9), "d")
	k.Handle("locker", message.Position{Lease: "uid", Transition: 1, Sequence: 9, End: true}, nil, nil)
	k.flush()
	by.Step(time.Minute) // the operator is down
	k.connect(at(2, 0))
	by.Step(time.Minute)
	k.connect(at(3, 0)) // and killed
	check.That(t, k.asked != 0, "the states are not read after a gap")
	k.expect("watched 00:00:00-00:00:00", "a", "watched 00:00:00-00:01:00", "watched 00:01:00-00:02:00", "b",
		"watched 00:02:00-00:03:00", "watched 00:03:00-00:04:00", "lost", "EventsMissed 00:03:00-00:04:00 5", "c",
		"watched 00:04:00-00:05:00", "watched 00:05:00-00:06:00", "d", "watched 00:06:00-00:06:00",
		"OperatorStopped 00:06:00-00:07:00", "watched 00:07:00-00:07:00",
		"OperatorChanged 00:07:00-00:08:00", "watched 00:08:00-00:08:00")
}

// What a disk does not take is a gap when it takes lines again, and a position counts as reached on the disk only.
func TestEvidence_WhatIsNotWrittenIsAGap(t *testing.T) {
	by, dir := midnight(), t.TempDir()
	k := newKeeper(t, dir, by)
	k.connect(at(1, 0))
	check.NoError(t, os.Chmod(dir, 0o500))
	check.NoError(t, k.log.Close())
	hidden := dir + "-hidden"
	check.NoError(t, os.Rename(dir, hidden))
	reached := 0
	m := drifted("a")
	m.Time = by.Now()
	k.Handle("locker", at(1, 1), m, func() { reached++ })
	check.Equal(t, reached, 0, "an event counts as reached before it is written")
	k.flush()
	check.That(t, k.Ready() != nil, "the sink is ready while it cannot write")
	by.Step(time.Minute)
	check.NoError(t, os.Rename(hidden, dir))
	check.NoError(t, os.Chmod(dir, 0o700))
	asked := k.asked
	k.drift(at(1, 2), "b")
	check.NoError(t, k.Ready())
	check.That(t, k.asked != asked, "the states are not read after lost lines, and a change of a lock may be among them")
	for n := range int64(pendingLength + 5) {
		k.Handle("locker", at(1, 3+n), m, nil)
	}
	k.flush()
	k.drift(at(1, 99999), "c")
	var want []string
	for range pendingLength {
		want = append(want, "a")
	}
	want = append(append([]string{"watched 00:00:00-00:00:00", "NotWritten 00:00:00-00:01:00 1", "b",
		"NotWritten 00:01:00-00:01:00 5"}, want...), "c")
	k.expect(want...)
}

// The process writes until it is stopped, and proves the time until then.
func TestEvidence_TheEndIsProven(t *testing.T) {
	by, dir := midnight(), t.TempDir()
	k := newKeeper(t, dir, by)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.run(ctx) }()
	k.Connected("locker", at(1, 0))
	by.Step(20 * time.Second)
	k.Alive("locker")
	stop()
	check.NoError(t, <-done)
	k.expect("watched 00:00:00-00:00:00", "watched 00:00:00-00:00:20")
}

func helmRelease(change func(*v1alpha1.HelmRelease)) v1alpha1.HelmRelease {
	hr := v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "locker", Name: "shop"}}
	hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: "apps", Name: "shop"}
	hr.Status.Revision, hr.Status.Conditions = 3, []metav1.Condition{{Type: v1alpha1.ConditionLocked,
		Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonLocked}}
	change(&hr)
	return hr
}

// A state is written when it is another one than the last line has, and a refused request once.
func TestEvidence_StatesAndDeniedRequests(t *testing.T) {
	by := midnight()
	k := newKeeper(t, t.TempDir(), by)
	denied := func(hr *v1alpha1.HelmRelease) {
		hr.Status.RecentDrift = []v1alpha1.DriftRecord{{Time: metav1.NewMicroTime(by.Now()), User: "eve", Count: 2,
			Action: v1alpha1.DriftActionDenied, Operation: v1alpha1.DriftModified}}
	}
	paused := func(hr *v1alpha1.HelmRelease) {
		denied(hr)
		hr.Spec.SuspendUntil = &metav1.Time{Time: by.Now().Add(time.Hour)}
		hr.Annotations = map[string]string{v1alpha1.SuspendReasonAnnotation: "INC-42"}
		hr.Status.Conditions[0].Reason = v1alpha1.ReasonSuspended
	}
	for n, step := range []struct {
		list []v1alpha1.HelmRelease
		all  bool
		want []string
	}{
		{[]v1alpha1.HelmRelease{helmRelease(func(*v1alpha1.HelmRelease) {})}, false, []string{`"reason":"Locked"`}},
		{[]v1alpha1.HelmRelease{helmRelease(denied)}, false, []string{`"user":"eve"`}},
		{[]v1alpha1.HelmRelease{helmRelease(denied)}, false, nil},
		{[]v1alpha1.HelmRelease{helmRelease(paused)}, false,
			[]string{`"pause":{"reason":"INC-42","until":"2026-10-01T01:00:00Z"}`}},
		{[]v1alpha1.HelmRelease{helmRelease(paused)}, true, []string{`"reason":"Suspended"`}},
		{nil, false, []string{`"reason":"Untracked"`}},
		{nil, true, nil},
	} {
		lines := k.states.read(step.list, by.Now(), step.all)
		check.Must(t, len(lines) == len(step.want), "step %d: %d lines, want %d", n, len(lines), len(step.want))
		for i, l := range lines {
			text, err := json.Marshal(l.Data)
			check.NoError(t, err)
			check.That(t, strings.Contains(string(text), step.want[i]), "step %d: the line is %s, want %s", n, text,
				step.want[i])
		}
	}
}

// refusing is a client whose lists fail while it is set.
type refusing struct {
	dynamic.ResourceInterface
	err error
}

func (r *refusing) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return &unstructured.UnstructuredList{}, r.err
}

// A time whose states could not be read is a gap.
func TestEvidence_StatesThatAreNotReadAreAGap(t *testing.T) {
	by := midnight()
	k := newKeeper(t, t.TempDir(), by)
	client := &refusing{}
	reader := newStateReader(client, k.sink, k.sink.to)
	reader.try(t.Context(), true)
	client.err = errors.New("forbidden")
	for range 2 {
		by.Step(time.Minute)
		reader.try(t.Context(), false)
	}
	k.flush()
	k.expect("StatesNotRead 00:00:00-00:01:00", "StatesNotRead 00:01:00-00:02:00")
}
