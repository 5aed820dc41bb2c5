package notify

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/bucket"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/follow"
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
