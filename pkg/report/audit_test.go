package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTheAuditQueryIsOneArgumentWhateverAnObjectIsCalled(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("no jq: ", err)
	}
	dir := t.TempDir()
	const name = `a'; touch harm; '"b`
	log := `{"stage":"ResponseComplete","verb":"patch","user":{"username":"jane"},"impersonatedUser":{"username":"admin"},"userAgent":"kubectl",` +
		`"requestReceivedTimestamp":"2026-01-02T12:00:00.123456Z","objectRef":{"resource":"clusterroles",` +
		`"apiGroup":"rbac.authorization.k8s.io","name":"a'; touch harm; '\"b"}}` + "\n" +
		`{"stage":"ResponseComplete","verb":"patch","user":{"username":"other"},"userAgent":"kubectl",` +
		`"requestReceivedTimestamp":"2026-01-02T12:00:00.123456Z","objectRef":{"resource":"clusterroles",` +
		`"apiGroup":"rbac.authorization.k8s.io","name":"a"}}` + "\n"
	check.NoError(t, os.WriteFile(filepath.Join(dir, "audit.log"), []byte(log), 0o600))
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	query := AuditQuery(v1alpha1.DriftRecord{Time: metav1.NewMicroTime(at), Object: v1alpha1.DriftedObject{
		Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name}})
	shell := exec.CommandContext(t.Context(), "sh", "-c", query)
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	const want = "2026-01-02T12:00:00.123456Z\tjane\tadmin\tpatch\tclusterroles\tkubectl\n"
	check.That(t, err == nil && string(out) == want, "%s\nprints %s (%v)", query, out, err)
	_, err = os.Stat(filepath.Join(dir, "harm"))
	check.That(t, os.IsNotExist(err), "the shell ran what an object is called")
}

func TestTheAuditQueryLooksWhereTheChangeMayBe(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hour := metav1.NewTime(at.Add(-time.Hour))
	span := &metav1.Duration{Duration: 24 * time.Hour}
	for name, tc := range map[string]struct {
		record v1alpha1.DriftRecord
		from   string
	}{
		"when it was observed": {v1alpha1.DriftRecord{Since: v1alpha1.DriftSinceObserved}, "2026-01-02T11:59:00Z"},
		"from the change on":   {v1alpha1.DriftRecord{ChangeTime: &hour}, "2026-01-02T10:59:00Z"},
		"from the lock on": {v1alpha1.DriftRecord{ChangeTime: &hour, Since: v1alpha1.DriftSinceLocked, Duration: span},
			"2026-01-01T11:59:00Z"},
	} {
		tc.record.Time = metav1.NewMicroTime(at)
		query := AuditQuery(tc.record)
		for _, part := range []string{`>= "` + tc.from + `"`, `<= "2026-01-02T12:01:00Z"`} {
			check.That(t, strings.Contains(query, part), "%s: no %s in %s", name, part, query)
		}
	}
}

// An object that was absent when its lock began is missing, whether or not it was created since.
func TestWhatDriftedNamesAMissingObject(t *testing.T) {
	for want, r := range map[string]v1alpha1.DriftRecord{
		"missing":                        {Operation: v1alpha1.DriftMissing},
		"deleted":                        {Operation: v1alpha1.DriftDeleted, Since: v1alpha1.DriftSinceLocked},
		"deleted by user alice (a, ops)": {Operation: v1alpha1.DriftDeleted, User: "alice", UserGroups: []string{"a", "ops"}},
	} {
		check.Equal(t, WhatDrifted(r), want, "it")
	}
}
