package clitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Texts of others in a release, an object or a status cannot move the cursor or imitate a line, in any form of
// output.
func TestNothingThatIsShownMovesTheCursor(t *testing.T) {
	const hostile = "no\x1b[2J\x1b]0;pwned\a\nReady: True\r\u202e"
	w := newFixture(t)
	quoted, err := json.Marshal(hostile)
	check.NoError(t, err)
	manifest := fmt.Sprintf(
		"---\n# Source: a\x1b[2J\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: %s, other: a}\n", quoted,
	)
	record, err := json.Marshal(map[string]any{
		"name": "app", "namespace": w.Apps, "version": 1,
		"manifest": strings.ReplaceAll(manifest, "# Source: a\x1b[2J\n", ""),
		"info":     map[string]any{"status": "deployed", "description": hostile, "notes": hostile},
		"chart":    map[string]any{"metadata": map[string]any{"name": hostile, "version": hostile, "appVersion": hostile}},
		"config":   map[string]any{hostile: hostile},
		"hooks": []any{map[string]any{"name": hostile, "kind": hostile, "path": hostile, "events": []string{hostile},
			"manifest": hostile}},
	})
	check.NoError(t, err)
	payload, err := kit.EncodePayload(record)
	check.NoError(t, err)
	w.Forge(kit.ForgedRecord{Name: "app", Payload: payload})
	live := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"},
		"data": map[string]string{"key": "x" + hostile, "other": hostile}}
	body, err := json.Marshal(live)
	check.NoError(t, err)
	force := true
	_, err = w.In(kit.ConfigMaps, w.Apps).Patch(t.Context(), "settings", types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: "tamperer", Force: &force})
	check.NoError(t, err)
	// A status as left by an older operator, or by any user who may write it.
	w.CreateHelmRelease("app")
	object := map[string]any{"kind": "ConfigMap", "name": hostile}
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"state": "Deployed", "version": 1, "revision": 1, "description": hostile, "notes": hostile,
		"objects": map[string]any{"tracked": 1, "drifted": 1, "contended": 0, "waiting": 0},
		"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "Forbidden",
			"message": hostile, "lastTransitionTime": "2026-01-01T00:00:00Z"}},
		"recentDrift": []any{map[string]any{"time": "2026-01-01T00:00:00.000000Z", "object": object,
			"operation": "Modified", "paths": []string{hostile}, "fieldManager": hostile, "action": "Refused"}},
		"exceptions": []any{map[string]any{"object": object, "reason": "Ignored", "paths": []string{hostile},
			"message": hostile}},
	}})
	check.NoError(t, err)
	_, err = w.In(kit.HelmReleases, w.Operator).Patch(t.Context(), "app", types.MergePatchType, status,
		metav1.PatchOptions{}, "status")
	check.NoError(t, err)
	for _, args := range [][]string{
		{"inspect", "app"}, {"inspect", "app", "--manifest"}, {"inspect", "app", "--values"},
		{"inspect", "app", "--notes"}, {"inspect", "app", "--json"},
		{"inspect", "app", "--show-secrets", "--values"}, {"diff", "app"}, {"diff", "app", "--output", "json"},
		{"diff", "app", "--output", "patch"}, {"diff", "app", "--output", "yaml"},
		{"status", "app"}, {"status", "app", "--output", "wide"}, {"status", "app", "--output", "yaml"},
		{"status", "app", "--output", "json"}, {"status"}, {"inspect", hostile}, {"diff", "app", "--output", hostile},
		{hostile}, {"--" + hostile},
	} {
		r := w.app(args...)
		check.That(t, r.stdout+r.stderr != "", "helm-locker %q printed nothing", args)
		for stream, text := range map[string]string{"stdout": r.stdout, "stderr": r.stderr} {
			if at := strings.IndexFunc(text, func(c rune) bool {
				return !unicode.IsPrint(c) && c != '\n' && c != '\t'
			}); at >= 0 {
				t.Errorf("helm-locker %q: byte %d of %s: %q", args, at, stream, text[max(0, at-60):min(len(text), at+60)])
			}
		}
		forged := strings.Contains("\n"+r.stdout+r.stderr, "\nReady: True")
		if notes := len(args) > 2 && args[2] == "--notes"; forged && !notes {
			t.Errorf("helm-locker %q has a line that it did not write: %q", args, r.stdout+r.stderr)
		}
	}
}
