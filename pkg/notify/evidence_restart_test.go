package notify

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

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
