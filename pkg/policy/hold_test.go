package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// holding is a rollout of releases, some with drift.
type holding struct {
	*testing.T
	in      Input
	p       *v1alpha1.HelmReleasePolicy
	drifted []string // names of HelmReleases
	last    Summary
}

// newHolding returns a rollout whose HelmReleases are compared, and nothing is moved yet.
func newHolding(t *testing.T, r v1alpha1.Rollout, names, drifted []string) *holding {
	t.Helper()
	p := newPolicy("every", "*")
	p.Status.ObservedGeneration = 1
	p.Spec.Rollout = &r
	in := inputOf(p, names...)
	h := &holding{T: t, p: p, drifted: drifted, in: in}
	h.in.HelmReleases = carriedOut(h.in, Make(h.in))
	h.compare()
	return h
}

// compare sets the status of the HelmReleases, as an operator does.
func (h *holding) compare() {
	for _, hr := range h.in.HelmReleases {
		hr.Status.Version = 3
		drift := metav1.Condition{Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonNoDrift}
		if slices.Contains(h.drifted, hr.Name) && hr.Spec.Mode == v1alpha1.ModeDetect {
			drift.Status, drift.Reason = metav1.ConditionTrue, v1alpha1.ReasonDetectOnly
		}
		meta.SetStatusCondition(&hr.Status.Conditions, drift)
	}
}

// step carries a plan out at a time after noon, and compares the enforced and the held releases.
func (h *holding) step(what string, after time.Duration, enforced, held string) {
	h.Helper()
	h.in.Now = noon.Add(after)
	plan := Make(h.in)
	h.in.HelmReleases = carriedOut(h.in, plan)
	h.compare()
	h.last = plan.Policies[0]
	h.p.Status.Rollout = h.last.Rollout
	var moved, marked []string
	for _, hr := range h.in.HelmReleases {
		if hr.Spec.Mode == v1alpha1.ModeEnforce {
			moved = append(moved, hr.Name)
		}
		if hr.Annotations[v1alpha1.HeldSinceAnnotation] != "" {
			marked = append(marked, hr.Name)
		}
	}
	slices.Sort(moved)
	slices.Sort(marked)
	if got := strings.Join(moved, " "); got != enforced {
		h.Errorf("%s: enforced %q, want %q; %+v", what, got, enforced, h.last.Rollout)
	}
	if got := strings.Join(marked, " "); got != held {
		h.Errorf("%s: held %q, want %q; %+v", what, got, held, h.last.Rollout)
	}
}

func (h *holding) named(name string) *v1alpha1.HelmRelease {
	h.Helper()
	for _, hr := range h.in.HelmReleases {
		if hr.Name == name {
			return hr
		}
	}
	h.Fatalf("there is no HelmRelease %s", name)
	return nil
}

// agree sets the annotation of a user who agrees to the revert of a revision's drift.
func (h *holding) agree(name, revision string) {
	h.Helper()
	annotate(h.named(name), v1alpha1.EnforceRevisionAnnotation, revision)
}

var four = []string{"a/1", "a/2", "a/3", "a/4"}

func TestARolloutHoldsReleasesWithDrift(t *testing.T) {
	h := newHolding(t, v1alpha1.Rollout{BatchSize: 2, Interval: metav1.Duration{Duration: time.Hour}}, four,
		[]string{"a.1", "a.2"})
	h.agree("a.1", "3") // before its hold: the drift was not reported yet
	h.step("those without drift move first", 0, "a.3 a.4", "a.1 a.2")
	r := h.last.Rollout
	check.That(t,
		r.State == v1alpha1.RolloutProgressing && r.Held == 2 && r.Waiting == 2 &&
			strings.HasPrefix(r.Message, "2 held because of drift (a/1, a/2): helm-locker enforce RELEASE -n NAMESPACE"), "%+v",
		r)
	applied := h.last.applied()
	check.That(t, strings.Contains(applied, "2 still in Detect, 2 of them held because of drift"), "%v", applied)
	h.step("without a consent", 100*time.Hour, "a.3 a.4", "a.1 a.2")
	got := show(Make(h.in))
	check.That(t, got == "" && h.last.Again.IsZero(), "a hold leaves something to do: %s, again at %s", got, h.last.Again)
	h.agree("a.1", "2")
	h.step("a consent for another revision", 100*time.Hour, "a.3 a.4", "a.1 a.2")
	h.agree("a.1", "3")
	h.step("a consent", 100*time.Hour, "a.1 a.3 a.4", "a.2")
	check.Equal(t, h.named("a.1").Annotations[v1alpha1.EnforceRevisionAnnotation], "", "the consent stays")
	h.drifted = nil
	h.compare()
	h.step("the end of the drift", 100*time.Hour, "a.1 a.2 a.3 a.4", "")
	check.Equal(t, h.last.Rollout.State, v1alpha1.RolloutComplete, "%+v", h.last.Rollout)
}

// A consent moves a release at once, and counts for the batch.
func TestAConsentCountsForTheBatch(t *testing.T) {
	h := newHolding(t, v1alpha1.Rollout{BatchSize: 1, Interval: metav1.Duration{Duration: time.Hour}}, four,
		[]string{"a.1", "a.2"})
	h.step("the first batch", 0, "a.3", "a.1 a.2")
	h.agree("a.1", "3")
	h.agree("a.2", "3")
	h.step("two consents", time.Minute, "a.1 a.2 a.3", "")
	h.step("the next batch is later", time.Hour, "a.1 a.2 a.3", "")
	h.step("an interval after the consents", time.Hour+time.Minute, "a.1 a.2 a.3 a.4", "")
}

// An uninstalled release that moved lets no held one move before its time.
func TestAHeldReleaseWaitsForTheBatch(t *testing.T) {
	h := newHolding(t, v1alpha1.Rollout{BatchSize: 1, Interval: metav1.Duration{Duration: time.Hour}}, four[:2],
		[]string{"a.2"})
	h.step("the first batch", 0, "a.1", "a.2")
	next := h.last.Rollout.NextBatch
	check.That(t, next != nil && next.Time.Equal(noon.Add(time.Hour)), "the next batch is at %s", next)
	h.in.HelmReleases = []*v1alpha1.HelmRelease{h.named("a.2")}
	h.in.Releases, h.drifted = releases("a/2"), nil
	h.compare()
	h.step("before its time", time.Minute, "", "")
	h.step("at its time", time.Hour, "a.2", "")
}

func TestAHoldEndsAtItsDeadline(t *testing.T) {
	h := newHolding(t, v1alpha1.Rollout{BatchSize: 2, Interval: metav1.Duration{Duration: time.Hour},
		HoldFor: &metav1.Duration{Duration: 48 * time.Hour}}, four, []string{"a.1", "a.2", "a.4"})
	h.step("the first batch", 0, "a.3", "a.1 a.2 a.4")
	check.That(t,
		h.last.Again.Equal(noon.Add(48*time.Hour)) && strings.Contains(h.last.Rollout.Message, "2026-01-04T12:00:00Z"),
		"planned again at %s; %+v", h.last.Again, h.last.Rollout)
	// An upgrade of one: its drift is not known meanwhile.
	meta.SetStatusCondition(&h.named("a.2").Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDrifted,
		Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotCompared})
	h.step("an upgrade of one", time.Hour, "a.3", "a.1 a.2 a.4")
	check.Equal(t, h.last.Rollout.Held, 3, "%+v", h.last.Rollout)
	// The drift of one is over for a while, and the batch is full.
	h.p.Spec.Rollout.BatchSize = 1
	h.p.Status.Rollout = &v1alpha1.RolloutStatus{NextBatch: &metav1.Time{Time: h.in.Now.Add(time.Minute)}}
	h.drifted = []string{"a.1", "a.2"}
	h.compare()
	h.step("the end of one drift", time.Hour, "a.3", "a.1 a.2")
	h.drifted = []string{"a.1", "a.2", "a.4"}
	h.compare()
	h.step("another drift", time.Hour, "a.3", "a.1 a.2 a.4")
	h.p.Spec.Rollout.BatchSize = 2
	h.step("before the deadline", 48*time.Hour-time.Second, "a.3", "a.1 a.2 a.4")
	h.step("at the deadline", 48*time.Hour, "a.1 a.2 a.3", "a.4")
	h.step("at that of the other drift", 49*time.Hour, "a.1 a.2 a.3 a.4", "")

	// A time that no rollout wrote is none.
	for _, since := range []string{"tomorrow", noon.Add(time.Hour).Format(time.RFC3339)} {
		h = newHolding(t, v1alpha1.Rollout{HoldFor: &metav1.Duration{Duration: time.Minute}}, four[:1], []string{"a.1"})
		annotate(h.named("a.1"), v1alpha1.HeldSinceAnnotation, since)
		h.step("held since "+since, 0, "", "a.1")
		check.Equal(t, h.named("a.1").Annotations[v1alpha1.HeldSinceAnnotation], "2026-01-02T12:00:00Z", "held since %s",
			since)
	}
}

func TestDriftedRevertMovesReleasesWithDriftLast(t *testing.T) {
	h := newHolding(t, v1alpha1.Rollout{BatchSize: 2, Interval: metav1.Duration{Duration: time.Hour}}, four,
		[]string{"a.1", "a.2"})
	h.step("held", 0, "a.3 a.4", "a.1 a.2")
	h.p.Spec.Rollout.Drifted = v1alpha1.DriftedRevert
	h.step("before the next batch", time.Minute, "a.3 a.4", "")
	h.step("reverted", time.Hour, "a.1 a.2 a.3 a.4", "")

	h = newHolding(t, v1alpha1.Rollout{BatchSize: 3, Drifted: v1alpha1.DriftedRevert}, four, []string{"a.1", "a.2"})
	h.step("one batch", 0, "a.1 a.3 a.4", "")
}

// Neither a stopped rollout nor a policy in mode Detect moves a release for a consent; the latter holds none.
func TestAConsentIsForARollout(t *testing.T) {
	h := newHolding(t, v1alpha1.Rollout{}, four[:2], []string{"a.1"})
	h.step("held", 0, "a.2", "a.1")
	h.agree("a.1", "3")
	meta.SetStatusCondition(&h.named("a.2").Status.Conditions,
		metav1.Condition{Type: v1alpha1.ConditionContended, Status: metav1.ConditionTrue})
	h.step("stopped", 0, "a.2", "a.1")
	check.Equal(t, h.last.Rollout.State, v1alpha1.RolloutStopped, "%+v", h.last.Rollout)
	h.p.Spec.Template.Spec.Mode = v1alpha1.ModeDetect
	h.step("mode Detect", 0, "", "")
	check.Equal(t, h.named("a.1").Annotations[v1alpha1.EnforceRevisionAnnotation], "", "the consent stays")
}

func TestPace(t *testing.T) {
	p := newPolicy("every", "*")
	for _, c := range []struct {
		rollout *v1alpha1.Rollout
		want    string
	}{
		{nil, "at once, which reverts their drift; "},
		{&v1alpha1.Rollout{}, "10 within 60m, those without drift first; those with drift are held until it is over or a " +
			"user agrees to the revert (helm-locker enforce)"},
		{&v1alpha1.Rollout{HoldFor: &metav1.Duration{Duration: 48 * time.Hour}}, "(helm-locker enforce), or for 2d"},
		{&v1alpha1.Rollout{Drifted: v1alpha1.DriftedRevert}, "those with drift last, which reverts it"},
	} {
		p.Spec.Rollout = c.rollout
		got := Pace(p)
		check.That(t, strings.Contains(got, c.want), "%v %v", fmt.Sprintf("%+v: ", c.rollout), got)
	}
	p.Spec.Template.Spec.Mode = v1alpha1.ModeDetect
	check.Equal(t, Pace(p), "")
}
