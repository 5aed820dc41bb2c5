package notify

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/bucket"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/follow"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// With a bucket, a file ends after an hour, and at the end of the process; without one, with its day.
func TestEvidence_FilesEndForABucket(t *testing.T) {
	for name, tc := range map[string]struct {
		copied      bool
		files, ends int
	}{
		"with a bucket": {true, 3, 2}, "without one": {false, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			by, dir := midnight(), t.TempDir()
			k := newKeeper(t, dir, by)
			ends := 0
			if tc.copied {
				k.ended = func() { ends++ }
			}
			k.connect(at(1, 0))
			for range 119 {
				k.minute()
				k.end(endedEvery)
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			check.NoError(t, k.run(ctx))
			names, err := evidence.Files(os.DirFS(dir))
			check.NoError(t, err)
			check.That(t, len(names) == tc.files && ends == tc.ends, "%d ends, and the files are %v", ends, names)
		})
	}
}

// A bucket that cannot be used is an error at the start.
func TestEvidence_ABucketNeedsADirectoryAndItsAuthority(t *testing.T) {
	to := bucket.Options{URL: "s3://audit"}
	for want, o := range map[string]EvidenceOptions{
		"--evidence-dir":           {Bucket: to},
		"bucket CA file: open /no": {Bucket: to, Directory: t.TempDir(), BucketCAFile: "/no"},
		"no https URL":             {Bucket: to, Directory: t.TempDir()},
	} {
		run := RunOptions{Evidence: o, Clock: midnight()}
		_, err := run.keep(&follow.Options{}, newCounters())
		check.That(t, err != nil && strings.Contains(err.Error(), want), "the error is %v, want %s", err, want)
	}
}

// The counters show what waits for the bucket.
func TestEvidence_CopiesAreCounted(t *testing.T) {
	c := newCounters()
	c.EvidenceCopied(true)
	c.EvidenceCopied(false)
	c.EvidenceWaiting(3)
	families, err := c.registry.Gather()
	check.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				got[f.GetName()+" "+l.GetValue()] = m.GetCounter().GetValue()
			}
			if m.GetGauge() != nil {
				got[f.GetName()] = m.GetGauge().GetValue()
			}
		}
	}
	check.That(t,
		got["helm_locker_evidence_copies_total copied"] == 1 && got["helm_locker_evidence_copies_total failed"] == 1 &&
			got["helm_locker_evidence_files_waiting"] == 3, "the metrics are %v", got)
}

// A denied request stays in the status for days: a process that starts again finds its line in files of any age.
func TestEvidence_ARestartWritesNoDeniedRequestAgain(t *testing.T) {
	by, dir := midnight(), t.TempDir()
	list := []v1alpha1.HelmRelease{helmRelease(func(hr *v1alpha1.HelmRelease) {
		hr.Status.RecentDrift = []v1alpha1.DriftRecord{{Time: metav1.NewMicroTime(by.Now()), User: "eve",
			Action: v1alpha1.DriftActionDenied, Operation: v1alpha1.DriftModified, Paths: []string{"/data/a"}}}
	})}
	denied := 0
	for range 5 {
		k := newKeeper(t, dir, by)
		k.write(k.states.read(list, by.Now(), true))
		check.NoError(t, k.log.Close())
		by.Step(24 * time.Hour)
	}
	_, err := evidence.Read(os.DirFS(dir), func(l *evidence.Line) error {
		if l.Type == evidence.Denied {
			denied++
		}
		return nil
	})
	check.NoError(t, err)
	check.That(t, denied == 1, "the request has %d lines", denied)
}

// The author of a pause, the writer of the locked record and the rules are in the line of a state.
func TestEvidence_AStateNamesItsAuthors(t *testing.T) {
	by := midnight()
	k := newKeeper(t, t.TempDir(), by)
	lines := k.states.read([]v1alpha1.HelmRelease{helmRelease(func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Suspend, hr.Spec.Mode = true, v1alpha1.ModeEnforce
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/spec"}}}
		hr.Status.Trust = &v1alpha1.TrustStatus{Revision: 3, Writer: "alice"}
		hr.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-edit\n", Time: &metav1.Time{Time: by.Now()},
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`)},
			{Manager: "other", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspendUntil":{}}}`)}}
	})}, by.Now(), false)
	text, err := json.Marshal(lines[0].Data)
	check.NoError(t, err)
	for _, want := range []string{`"pause":{"manager":"kubectl-edit\\n","since":"2026-10-01T00:00:00Z"}`,
		`"writer":"alice"`, `"rules":{"mode":"Enforce","ignore":[{"paths":["/spec"]}]}`} {
		check.That(t, strings.Contains(string(text), want), "the line is %s, want %s", text, want)
	}
}

// A process that keeps evidence and has no receiver takes every event.
func TestEvidence_NoReceiverIsNeeded(t *testing.T) {
	n := &Notifier{clock: midnight()}
	n.Send(message.Event{ID: "lease-1-1", Message: drifted("a")})
}
