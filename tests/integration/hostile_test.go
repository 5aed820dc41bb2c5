package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Manifests never deployed by Helm, made to exhaust or to mislead: each ends in a condition, none is enforced, and
// other releases stay locked.
func TestI10_HostileManifestsEndInACondition(t *testing.T) {
	t.Parallel()
	lol := "\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i <= 'i'; i++ {
		lol += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i, i-1, i-1, i-1, i-1, i-1,
			i-1, i-1, i-1, i-1)
	}
	const head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n"
	tests := map[string]struct{ manifest, message string }{
		"a-list-of-nothing": {head + "data: [" + strings.Repeat("{},", 3<<20) +
			"]\n", "more than 262144 characters that may begin an element"},
		"carriage-returns": {head + "data:\r" + strings.Repeat("- a: b\r", 2<<20),
			"more than 262144 characters that may begin an element"},
		"separators":     {strings.Repeat("---\n", 4<<20-100), "more than 40000 documents"},
		"json-documents": {strings.Repeat("{}", 8<<20), "more than 40000 documents"},
		"seventeen-mib":  {head + "data: {a: " + strings.Repeat("a", 17<<20) + "}\n", "more than 16777216"},
		"laughs":         {"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}" + lol, "excessive aliasing"},
		"cycle":          {head + "data: &a {b: *a}\n", "not valid YAML"},
		"depth":          {head + "data: " + strings.Repeat("[", 100000) + "\n", "not valid YAML"},
		"depth-in-json": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":` +
			strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5001), "nests deeper"},
		"many-objects": {strings.Repeat(head, 20001), "more than 20000 objects"},
		"lists-in-lists": {"---\n" + strings.Repeat("{apiVersion: v1, kind: List, items: [", 20) +
			strings.Repeat("]}", 20) + "\n", "nest deeper"},
		"line-end-in-name": {"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"bad\\nReady: True\"}\n",
			"not printable"},
		"escape-in-kind": {"---\napiVersion: v1\nkind: \"Config\\e[2JMap\"\nmetadata: {name: bad}\n", "not a word"},
		"another-path": {"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../kube-system/configmaps/a}\n",
			"metadata.name"},
	}
	w := newFixture(t)
	for name, test := range tests {
		if !strings.HasPrefix(test.manifest, "{") { // as JSON it cannot follow a good document
			test.manifest = kit.ConfigMap("good-of-"+name, "declared") + test.manifest
		}
		w.Forge(kit.ForgedRecord{Name: name, Manifest: test.manifest})
		w.CreateHelmRelease(name)
	}
	for name, test := range tests {
		w.Says(name, v1alpha1.ConditionReady, v1alpha1.ReasonManifestInvalid, test.message)
		check.That(t, w.Get(kit.ConfigMaps, "good-of-"+name) == nil, "%s: something of it is enforced", name)
	}
	w.PassFence()
	for name := range tests {
		w.harmless(w.HelmRelease(name).Status)
	}
	w.harmlessLog()
}

// harmless fails the test when a text in a value could move a cursor or end a line. Only notes have several lines.
func (w *fixture) harmless(value any) {
	w.Helper()
	encoded, err := json.Marshal(value)
	check.NoError(w, err)
	var decoded any
	check.NoError(w, json.Unmarshal(encoded, &decoded))
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case string:
			if at := strings.IndexFunc(v, func(r rune) bool {
				return !unicode.IsPrint(r) && !(path == "/notes" && r == '\n')
			}); at >= 0 {
				w.Errorf("byte %d of %s: %q", at, path, v)
			}
		case map[string]any:
			for key, member := range v {
				walk(path+"/"+key, member)
			}
		case []any:
			for _, e := range v {
				walk(path+"/-", e)
			}
		}
	}
	walk("", decoded)
}

// harmlessLog fails the test when a line of the log could move a cursor.
func (w *fixture) harmlessLog() {
	w.Helper()
	for line := range strings.Lines(w.Running.Log()) {
		line = strings.TrimSuffix(line, "\n")
		if at := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 ||
			!strings.HasPrefix(line, "time=") {
			w.Errorf("byte %d of line %q", at, line)
		}
	}
}

// Texts from records, webhooks and the API server appear in conditions, events and the log. None of them can pass for
// more than a text.
func TestI10_TextOfOthersIsNeutral(t *testing.T) {
	t.Parallel()
	const hostile = "no\x1b[2J\x1b]0;pwned\a\nReady: True\r\u202e"
	w := newFixture(t)
	record, err := json.Marshal(map[string]any{
		"name": "app", "namespace": w.Apps, "version": 1, "manifest": kit.ConfigMap("settings", "declared"),
		"info": map[string]any{"status": "deployed", "description": hostile,
			"notes": "first line\nsecond\x1b[2J line\n" + hostile},
	})
	check.NoError(t, err)
	payload, err := kit.EncodePayload(record)
	check.NoError(t, err)
	w.Forge(kit.ForgedRecord{Name: "app", Payload: payload})
	w.Lock("app")
	w.Proxy.On(cluster.ForResource("configmaps", http.MethodPatch), cluster.Fail(http.StatusForbidden, hostile))
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, `no\x1b[2J`, "Ready: True")
	status := w.HelmRelease("app").Status
	check.That(t,
		strings.Contains(status.Notes, "first line\nsecond\\x1b[2J line\n") &&
			strings.Contains(status.Description, `no\x1b[2J`), "description %q, notes %q", status.Description, status.Notes)
	w.harmless(status)
	var events *corev1.EventList
	w.Eventually("an event says it", func() error {
		events, err = w.Kube.CoreV1().Events(w.Operator).List(t.Context(),
			metav1.ListOptions{FieldSelector: "reason=" + v1alpha1.EventReasonRevertFailed})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("there is none")
		}
		return err
	})
	for _, e := range events.Items {
		w.harmless(map[string]any{"message": e.Message})
	}
	w.harmlessLog()
}

// Users with the right to write Secrets may unlock a release, as users of Helm may: but only by a Secret that is a
// record to Helm and to the watch alike, and never unseen.
func TestI10_TamperedRecords(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	secrets := w.Kube.CoreV1().Secrets(w.Apps)
	put := func(name, kind string, labels map[string]string) {
		t.Helper()
		_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: labels}, Type: corev1.SecretType(kind)}, metav1.CreateOptions{})
		check.NoError(t, err)
	}
	labels := func(version, status string) map[string]string {
		return map[string]string{"owner": "helm", "name": "app", "version": version, "status": status}
	}
	// It resembles a newer record without Helm's type: neither the watch nor the check before a revert considers it.
	put("sh.helm.release.v1.app.v99", "Opaque", labels("99", "pending-upgrade"))
	put("anything", "Opaque", labels("nonsense", "deployed"))
	for range 3 {
		w.Reverts("settings", "declared")
	}
	w.Delete(kit.ConfigMaps, "settings")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.WaitReady("app", 1)
	w.DeleteIn(kit.Secrets, w.Apps, "sh.helm.release.v1.app.v99")
	w.DeleteIn(kit.Secrets, w.Apps, "anything")

	// Each of these has Helm's type, and could be the newest record: nothing is reverted, and the condition names the
	// reason.
	for _, test := range []struct {
		name, version, status string
		reason, message       string
	}{
		// The same revision, again.
		{"sh.helm.release.v1.app.v01", "1", "deployed", v1alpha1.ReasonDecodeFailed, "its name is not of the form"},
		{"sh.helm.release.v1.app.v2", "1", "deployed", v1alpha1.ReasonDecodeFailed, `label "version" is "1"`},
		{"sh.helm.release.v1.app.v9223372036854775808", "2", "deployed", v1alpha1.ReasonDecodeFailed,
			"its name is not of the form"},
		{"sh.helm.release.v1.app.v9223372036854775807", "9223372036854775807", "deployed", v1alpha1.ReasonDecodeFailed,
			"missing or empty"},
		{"sh.helm.release.v1.another.v2", "2", "deployed", v1alpha1.ReasonDecodeFailed,
			`label "name" is "app"`}, // Helm finds it by its label
		{"sh.helm.release.v1.app.v2", "2", "failed", v1alpha1.ReasonNotDeployed, "revision 2"},
		{"sh.helm.release.v1.app.v2", "2", "brand-new", v1alpha1.ReasonNotDeployed, "revision 2"},
		{"sh.helm.release.v1.app.v2", "2", "pending-upgrade", v1alpha1.ReasonTransitioning, "revision 2"},
	} {
		put(test.name, "helm.sh/release.v1", labels(test.version, test.status))
		w.Says("app", v1alpha1.ConditionLocked, test.reason, test.message)
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
		w.PassFence()
		w.ExpectKey("settings", "tampered")
		w.DeleteIn(kit.Secrets, w.Apps, test.name)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		w.WaitReady("app", 1)
	}
	// A payload copied to a newer revision is still that of the older one.
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 1, Manifest: kit.ConfigMap("settings", "declared")})
	first, err := secrets.Get(t.Context(), "sh.helm.release.v1.app.v1", metav1.GetOptions{})
	check.NoError(t, err)
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Payload: first.Data["release"]})
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed,
		"revision is 1 in the payload and 2 in the metadata")
}
