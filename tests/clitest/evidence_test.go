package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// writeEvidence writes the evidence of a paused release to a directory.
func writeEvidence(t *testing.T, dir, cluster string) {
	t.Helper()
	begin := time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)
	log, err := evidence.Open(dir, cluster, clocktesting.NewFakeClock(begin), func(*evidence.Line) {})
	check.NoError(t, err)
	release := &message.Reference{Namespace: "apps", Name: "web"}
	until := begin.Add(time.Hour)
	_, err = log.Append(
		&evidence.Line{Type: evidence.Watched, Lease: "locker", Data: evidence.Data{Watched: &evidence.Span{From: begin, Until: until}}},
		&evidence.Line{Type: evidence.StateRead, Data: evidence.Data{
			Message: message.Message{HelmRelease: release, Release: release,
				Lock: &message.Lock{Reason: v1alpha1.ReasonSuspended, Revision: 3}},
			Pause: &evidence.Pause{Reason: "INC-42", Until: &until, Manager: "kubectl", Since: &begin}, Writer: "alice",
			Rules: &evidence.Rules{Mode: v1alpha1.ModeEnforce,
				Ignore: []v1alpha1.IgnoreRule{{Paths: []string{"/spec"}}}}}},
		&evidence.Line{Type: message.DriftReverted, Lease: "locker", Data: evidence.Data{Message: message.Message{HelmRelease: release,
			Release: release, Drift: &v1alpha1.DriftRecord{Action: v1alpha1.DriftActionReverted,
				Paths: []string{"/data/a"}, Object: v1alpha1.DriftedObject{Kind: "ConfigMap", Namespace: "apps", Name: "web"}}}}},
	)
	check.NoError(t, err)
	check.NoError(t, log.Close())
}

// A report of a large quarter is made in little time and memory, by the program as users run it.
func TestEvidence_AThousandReleases(t *testing.T) {
	const releases, events = 1000, 100_000
	dir, begin := t.TempDir(), time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	by := clocktesting.NewFakeClock(begin)
	log, err := evidence.Open(dir, "prod", by, func(*evidence.Line) {})
	check.NoError(t, err)
	const steps = 1000
	between := 92 * 24 * time.Hour / steps
	for step := range steps {
		from := by.Now()
		by.Step(between)
		lines := []*evidence.Line{{Type: evidence.Watched, Lease: "locker", Data: evidence.Data{
			Watched: &evidence.Span{From: from, Until: by.Now(), Position: "uid-1-1"}}}}
		for n := range events / steps {
			lines = append(lines, eventOf(step*(events/steps)+n, releases, by.Now()))
		}
		_, err := log.Append(lines...)
		check.NoError(t, err)
	}
	check.NoError(t, log.Close())
	for _, format := range []string{"text", "markdown", "html", "json", "csv"} {
		cmd := exec.CommandContext(t.Context(), binary, "evidence", dir, "--since", "2026-10-01", "--until", "2026-12-31", "-o", format,
			"--output-file", filepath.Join(t.TempDir(), "report"))
		cmd.Env = append(os.Environ(), "GOGC=100") // the default, whatever that of the tests is
		began := time.Now()
		out, err := cmd.CombinedOutput()
		check.NoError(t, err)
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			t.Skip("the platform does not count memory")
		}
		took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // other tests take no part of it
		t.Logf("%s: %s, %s of the processors, %d MiB, %s", format, time.Since(began).Round(10*time.Millisecond), took,
			usage.Maxrss>>10, out)
		check.That(t, took <= 10*time.Second && usage.Maxrss <= 256<<10, "%s takes %s and %d MiB", format, took,
			usage.Maxrss>>10)
		check.That(t, strings.Contains(string(out), "1000 releases in 1 cluster, "), "the output is %s", out)
	}
}

// eventOf returns the nth event: a change of a lock, or drift.
func eventOf(n, releases int, at time.Time) *evidence.Line {
	release := &message.Reference{Namespace: fmt.Sprintf("team-%d", n%releases/20), Name: fmt.Sprintf("release-%d", n%releases)}
	about := message.Message{HelmRelease: release, Release: release}
	if n/releases%10 == 0 {
		about.Lock = &message.Lock{Locked: true, Reason: v1alpha1.ReasonLocked, Revision: n/releases + 1}
		return &evidence.Line{Type: message.LockChanged, Lease: "locker", Time: at, Data: evidence.Data{Message: about}}
	}
	about.Drift = &v1alpha1.DriftRecord{Time: metav1.NewMicroTime(at), Action: v1alpha1.DriftActionReverted,
		Operation: v1alpha1.DriftModified, Paths: []string{"/spec/replicas", "/spec/template/spec/containers/0/image"},
		Object:       v1alpha1.DriftedObject{Group: "apps", Kind: "Deployment", Namespace: release.Namespace, Name: release.Name},
		FieldManager: "kubectl-edit", FieldManagerOperation: "Update", ChangeTime: &metav1.Time{Time: at},
		Duration: &metav1.Duration{Duration: 12 * time.Millisecond}, Since: v1alpha1.DriftSinceObserved}
	return &evidence.Line{Type: message.DriftReverted, Lease: "locker", Time: at, Data: evidence.Data{Message: about}}
}
