package period

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Each case is watched from hour 0 to hour 10, and has one release.
func TestIntervalsAreAsTheLinesSay(t *testing.T) {
	for name, tc := range map[string]struct {
		script      func(*script)
		from, until float64
		want        []string
	}{
		"locked before the period": {func(s *script) { s.state(-5, "shop", locked(1), evidence.Data{}); s.watched(-5, 10) },
			0, 10, []string{"0-10 Locked Locked"}},
		"known since a moment": {func(s *script) { s.state(1, "shop", locked(1), evidence.Data{}); s.watched(0, 10) },
			0, 10, []string{"0-1 Unknown NotKnownYet", "1-10 Locked Locked"}},
		"no line before and after": {func(s *script) { s.state(2, "shop", locked(1), evidence.Data{}); s.watched(2, 8) },
			0, 10, []string{"0-2 Unknown NotWatched", "2-8 Locked Locked", "8-10 Unknown NotWatched"}},
		"a hole without a line": {func(s *script) {
			s.watched(0, 3)
			s.state(0, "shop", locked(1), evidence.Data{})
			s.watched(5, 10)
			s.state(6, "shop", locked(1), evidence.Data{})
		}, 0, 10, []string{"0-3 Locked Locked", "3-6 Unknown NotWatched", "6-10 Locked Locked"}},
		"an operator that was down": {func(s *script) {
			s.state(0, "shop", locked(1), evidence.Data{})
			s.watched(0, 3)
			s.gap(3, 5, evidence.OperatorStopped).Lease = "locker"
			s.lock(4.5, "shop", locked(1)) // it began a moment before the sink connected
			s.watched(5, 10)
		}, 0, 10, []string{"0-3 Locked Locked", "3-5 Unknown OperatorStopped", "5-10 Locked Locked"}},
		"lost lines may have been newer": {func(s *script) {
			s.state(0, "shop", locked(1), evidence.Data{})
			s.lock(3.5, "shop", locked(2))
			s.watched(0, 10)
			s.gap(3, 5, evidence.NotWritten)
			s.state(6, "shop", locked(3), evidence.Data{})
		}, 0, 10, []string{"0-3 Locked Locked", "3-6 Unknown NotWritten", "6-10 Locked Locked"}},
		"states that were not read": {func(s *script) {
			s.state(0, "shop", locked(1), evidence.Data{})
			s.gap(3, 5, evidence.StatesNotRead)
			s.watched(0, 10)
		}, 0, 10, []string{"0-10 Locked Locked"}},
		"a gap of another operator": {func(s *script) {
			s.lock(0, "shop", locked(1))
			s.gap(3, 5, evidence.EventsMissed).Lease = "shard"
			s.watched(0, 10)
		}, 0, 10, []string{"0-10 Locked Locked"}},
		"a pause": {func(s *script) {
			s.watched(0, 10)
			s.lock(0, "shop", locked(1))
			s.lock(2, "shop", message.Lock{Reason: v1alpha1.ReasonSuspended})
			s.state(2.1, "shop", message.Lock{Reason: v1alpha1.ReasonSuspended}, evidence.Data{Pause: &evidence.Pause{Reason: "INC-42"}})
			s.state(3.9, "shop", message.Lock{Reason: v1alpha1.ReasonSuspended}, evidence.Data{}) // just resumed
			s.lock(4, "shop", message.Lock{Reason: v1alpha1.ReasonTransitioning})
			s.lock(5, "shop", locked(2))
			s.lock(6, "shop", message.Lock{Reason: v1alpha1.ReasonDetectOnly, Revision: 2})
			s.state(8, "shop", message.Lock{Reason: v1alpha1.EventReasonUntracked}, evidence.Data{})
		}, 1, 10, []string{"1-2 Locked Locked", "2-4 Paused Suspended INC-42", "4-5 NotLocked Transitioning", "5-6 Locked Locked",
			"6-8 Watched DetectOnly", "8-10 NotLocked Untracked"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{t: t, cluster: "prod"}
			tc.script(s)
			r := s.report(tc.from, tc.until)
			check.Must(t, len(r.Releases) == 1, "there are %d releases", len(r.Releases))
			got := brief(r.Releases[0].Intervals)
			check.That(t, slices.Equal(got, tc.want), "got %q, want %q", got, tc.want)
		})
	}
}

// A time is a gap unless a line proves that it was watched, whoever is asked about it.
func TestATimeWithoutALineIsAGap(t *testing.T) {
	s := &script{t: t, cluster: "prod"}
	s.watched(2, 4)
	s.watched(4, 5)
	s.gap(4.5, 4.75, evidence.EventsMissed).Lease = "locker"
	s.gap(5, 6, evidence.OperatorStopped).Lease = "locker"
	s.watched(6, 7)
	s.gap(7, 7, evidence.LineTorn)
	s.watched(7, 8)
	s.gap(20, 21, evidence.NotWritten)
	var got []string
	for _, g := range s.report(0, 10).Gaps {
		got = append(got, fmt.Sprintf("%g-%g %s", g.From.Sub(begin).Hours(), g.Until.Sub(begin).Hours(), g.Reason))
	}
	want := []string{"0-2 NotWatched", "4.5-4.75 EventsMissed", "5-6 OperatorStopped", "7-7 LineTorn", "8-10 NotWatched"}
	check.That(t, slices.Equal(got, want), "got %q, want %q", got, want)
	r := (&script{t: t}).report(0, 10)
	check.That(t, len(r.Gaps) == 0 && r.Summary.Clusters == 0, "a report without lines has %+v", r)
}

// Clusters merge by name, whatever the order of their directories.
func TestClustersMergeByName(t *testing.T) {
	s := &script{t: t, cluster: "west"}
	s.watched(5, 10)
	s.state(5, "shop", locked(2), evidence.Data{Writer: "bob"})
	s.cluster = "east"
	s.watched(0, 10)
	s.state(0, "shop", locked(7), evidence.Data{Writer: "carol"})
	s.cluster = "west"
	s.watched(0, 5)
	s.state(0, "shop", locked(1), evidence.Data{Writer: "alice"})
	r := s.report(0, 10)
	var got []string
	for i := range r.Releases {
		for _, v := range r.Releases[i].Revisions {
			got = append(got, fmt.Sprint(r.Releases[i].Cluster, v.Revision, v.Writer))
		}
	}
	want := []string{"east7carol", "west1alice", "west2bob"}
	check.That(t, slices.Equal(got, want) && len(r.Gaps) == 0, "got %q, want %q; gaps %v", got, want, r.Gaps)
}

// A revision of an unexpected user is marked: a locked one, one with a lock a moment later, and one without a lock.
func TestARevisionOfAnUnexpectedUserIsMarked(t *testing.T) {
	s := &script{t: t, cluster: "prod"}
	flagged := func(at float64, revision int, user string) {
		m := about("shop")
		m.Unexpected = &message.Writer{Revision: revision, User: user}
		s.add(at, message.WriterUnexpected, evidence.Data{Message: m})
	}
	s.watched(0, 10)
	s.state(0, "shop", locked(1), evidence.Data{Writer: "ci"})
	s.lock(1, "shop", locked(2))
	flagged(1.5, 2, "alice")
	s.state(2, "shop", locked(2), evidence.Data{Writer: "alice"})
	flagged(3, 3, "bob")
	s.lock(3.5, "shop", locked(3))
	s.state(4, "shop", message.Lock{Reason: v1alpha1.ReasonSuspended}, evidence.Data{})
	flagged(5, 4, "carol")
	s.lock(6, "shop", message.Lock{Reason: v1alpha1.ReasonSecretNotFound})
	s.state(7, "shop", locked(2), evidence.Data{Writer: "ci"})
	flagged(11, 2, "late")
	r := s.report(0, 10)
	var got []string
	for _, v := range r.Releases[0].Revisions {
		got = append(got, fmt.Sprintf("%d %s", v.Revision, v.writer()))
	}
	want := []string{"1 ci", "2 alice (unexpected)", "3 bob (unexpected)", "4 carol (unexpected)", "2 ci"}
	check.That(t, slices.Equal(got, want), "got %q, want %q", got, want)
	var csv strings.Builder
	err := r.CSV(&csv)
	check.That(t, err == nil && strings.Count(csv.String(), v1alpha1.ReasonUnexpectedWriter) == 3, "%v\n%s", err,
		csv.String())
}

// A denied request counts once, though processes of older versions wrote it again.
func TestADeniedRequestCountsOnce(t *testing.T) {
	s := &script{t: t, cluster: "prod"}
	s.watched(0, 10)
	for _, at := range []float64{1, 1, 2} {
		s.drift(at, "shop", func(r *v1alpha1.DriftRecord) { r.Action, r.User, r.Duration = v1alpha1.DriftActionDenied, "eve", nil })
	}
	s.drift(3, "shop", func(r *v1alpha1.DriftRecord) { r.PossibleUsers = []string{"carol", "dave"} })
	s.drift(11, "shop", func(*v1alpha1.DriftRecord) {})
	r := s.report(0, 10)
	check.That(t, r.Summary.Denials == 2 && r.Summary.Reverts == 1, "the totals are %s", r.Summary)
	text := written(t, r.CSV)
	check.That(t, strings.Contains(text, ",carol or dave,"), "the users whose requests fit are not in %s", text)
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	check.NoError(t, write(&b))
	return b.String()
}

const hostile = "=HYPERLINK(\"http://evil\")|<script>alert(1)</script>`\x1b[2J\u202e\n## x"

// Text of tenants stays text, in each format.
func TestHostile_TextOfTenantsIsNeverMarkup(t *testing.T) {
	s := &script{t: t, cluster: "prod"}
	s.watched(0, 10)
	s.state(0, "shop", message.Lock{Reason: v1alpha1.ReasonSuspended}, evidence.Data{Writer: hostile,
		Pause: &evidence.Pause{Reason: hostile, Manager: hostile}, Rules: &evidence.Rules{Account: hostile,
			Ignore: []v1alpha1.IgnoreRule{{Paths: []string{hostile}}}}})
	s.state(1, "shop", message.Lock{Reason: "Other", Message: hostile, Revision: 1}, evidence.Data{Writer: hostile})
	s.drift(2, "shop", func(r *v1alpha1.DriftRecord) {
		r.FieldManager, r.User, r.Object.Name, r.Subresource = hostile, hostile, hostile, hostile
		r.Paths = []string{hostile}
	})
	r := s.report(0, 10)
	r.Chains[0].Directory = hostile
	html := written(t, func(to io.Writer) error { return r.HTML(to, "", "") })
	markdown := written(t, r.Markdown)
	for format, text := range map[string]string{"text": written(t, func(to io.Writer) error { return r.Text(to, 0) }),
		"markdown": markdown, "html": html, "csv": written(t, r.CSV), "verify": r.Lines()} {
		check.That(t,
			strings.Contains(text, "HYPERLINK") && !strings.ContainsAny(text, "\x1b\u202e") && !strings.Contains(text, "\n## x"),
			"%s has a character that moves the cursor, or lacks a text: %q", format, text)
	}
	check.That(t, !strings.Contains(html, "<script"), "the HTML has a script")
	for line := range strings.Lines(markdown) {
		check.That(t, !strings.HasPrefix(line, "<") && !strings.Contains(strings.ReplaceAll(line, `\|`, ""), "|<script"),
			"Markdown has markup: %s", line)
	}
}

// A cell of CSV that a spreadsheet would take for a formula is a text.
func TestHostile_NoCellOfCSVIsAFormula(t *testing.T) {
	for text, want := range map[string]string{"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "  =1": "'  =1",
		"＝1": "'＝1", "\t=1": `\t=1`, "kubectl-edit": "kubectl-edit", "": "", "2": "2"} {
		check.Equal(t, harmless(text), want, "%q becomes", text)
	}
	s := &script{t: t, cluster: "=cmd"}
	s.watched(0, 10)
	s.drift(2, "shop", func(r *v1alpha1.DriftRecord) {
		r.FieldManager, r.User, r.Object.Kind = "@manager", "+user", "-kind"
	})
	text := written(t, s.report(0, 10).CSV)
	for _, want := range []string{"'=cmd", "'@manager", "'+user", "'-kind"} {
		if !strings.Contains(text, ","+want) && !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
