package teams

import (
	"encoding/json"
	"testing"
	"time"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// stored returns an object as the API server returns it: times are whole seconds there.
func stored[T any](t *testing.T, o *T) *T {
	t.Helper()
	text, err := json.Marshal(o)
	check.NoError(t, err)
	read := new(T)
	check.NoError(t, json.Unmarshal(text, read))
	return read
}

// A request is one pause, however its time is written, and though its answer is not stored: a member could change the
// ReleaseLock again and again, so that each write of its status conflicts.
func TestOneRequestIsOnePause(t *testing.T) {
	for _, asked := range []string{"2099-01-01T00:00:00Z", "2099-01-01T00:00:00.5Z", "2099-01-01T01:00:00.25+01:00"} {
		for _, statusIsStored := range []bool{true, false} {
			rl, hr := &v1alpha1.ReleaseLock{}, &helm.HelmRelease{}
			check.NoError(t, json.Unmarshal([]byte(`{"pausedUntil":"`+asked+`"}`), &rl.Spec))
			pauses := 0
			for i := range 5 {
				a := decide(rl, hr, time.Hour, now.Add(time.Duration(i)*time.Minute))
				if a.pause != nil {
					pauses++
					patch, err := pausePatch(rl, hr, a.pause)
					check.NoError(t, err)
					check.NoError(t, json.Unmarshal(patch, hr))
				}
				if statusIsStored {
					rl.Status.Pause = a.status
					rl.Status = *stored(t, &rl.Status)
				}
			}
			check.That(t, pauses == 1, "%s, with the status stored %t: %d pauses", asked, statusIsStored, pauses)
		}
	}
}
