package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDiffers(t *testing.T) {
	declared := map[string]any{"a": map[string]any{"b": []any{int64(1), map[string]any{"c": "x"}}}}
	live := func(c string, more ...any) map[string]any {
		return map[string]any{"extra": true, "a": map[string]any{"b": append([]any{float64(1),
			map[string]any{"c": c, "d": "default"}}, more...)}}
	}
	for _, c := range []struct {
		name        string
		live        map[string]any
		at, toSpare string
	}{
		{"what the server adds", live("x"), "", ""},
		{"another value", live("y"), "/a/b/1/c", ""},
		{"one value more in a list", live("x", "more"), "/a/b", ""},
		{"one element more that has a name", live("x", map[string]any{"name": "web-x"}), "", "/a/b/web-x"},
		{"nothing", map[string]any{}, "/a", ""},
	} {
		at, spare := differs(declared, c.live, "")
		check.That(t, at == c.at && strings.Join(spare, " ") == c.toSpare, "%s: got %q and %q, want %q and %q", c.name, at,
			spare, c.at, c.toSpare)
	}
}

func TestNamedElements(t *testing.T) {
	list := func(names ...string) (all []any) {
		for _, name := range names {
			all = append(all, map[string]any{"name": name, "env": []any{map[string]any{"name": "A"}}})
		}
		return all
	}
	object := func(names ...string) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": list(names...)}}
	}
	for _, c := range []struct {
		live      map[string]any
		at, spare string
	}{
		{object("web-x", "web"), "", "/spec/containers/web-x"},
		{object("web", "a", "b"), "", "/spec/containers/a /spec/containers/b"},
		{object("web-x"), "/spec/containers/0/name", ""},
		{object("web-x", "other"), "/spec/containers", ""},
	} {
		at, spare := differs(object("web"), c.live, "")
		check.That(t, at == c.at && strings.Join(spare, " ") == c.spare, "got %q and %q, want %q and %q", at, spare, c.at,
			c.spare)
	}
	for at, want := range map[string]bool{
		"/spec/containers/web-x": true, "/spec/containers/web-y": false, "/spec/containers/1/env/A": true,
		"/spec/containers/2/env/A": false,
		"/spec/containers":         false, "/spec/other/web-x": false, "/spec/containers/-1/env/A": false,
	} {
		check.Equal(t, hasElement(object("web-x", "web"), at), want, "%s: got %t", at, !want)
	}
	check.That(t, !hasElement(map[string]any(nil), "/spec/containers/web-x"),
		"what Helm wrote is not known, and has an element")
}

const (
	declaring = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: soak-1-config-3}\n"
	silent    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: soak-1-config-0}\n"
)

var stray = objectKey{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "soak-1", "soak-1-config-3"}

// event is a line of an audit log about a ConfigMap.
func event(agent, verb string, code int, name, uid string) string {
	return fmt.Sprintf(`{"verb":%q,"userAgent":%q,"requestURI":"/api/v1/namespaces/soak-1/configmaps","requestReceivedTimestamp":"2026-01-31T18:00:00.123456Z",`+
		`"objectRef":{"resource":"configmaps","namespace":"soak-1"},"responseStatus":{"code":%d},`+
		`"responseObject":{"metadata":{"name":%q,"uid":%q,"resourceVersion":"7","annotations":{"soak/mark":"m3k"}},"data":{"value":"m3k"}}}`+"\n", verb, agent, code, name, uid)
}

func journalOf(t *testing.T, log string) journal {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	check.NoError(t, os.WriteFile(path, []byte(log), 0o600))
	return journal{path}
}

func TestJournalTellsWhatHappened(t *testing.T) {
	log := event("Helm/3", "create", 201, "soak-1-config-3", "a") +
		event("helm-locker/dev", "patch", 409, "soak-1-config-3", "a") +
		strings.Replace(event("helm-locker/dev", "patch", 200, "soak-1-config-3", "a"), "configmaps", "configmaps?dryRun=All", 1) +
		strings.ReplaceAll(event("Helm/3", "create", 201, "soak-0-config-3", "b"), "soak-1", "soak-0") +
		`{"verb":"create","userAg` + event("killed", "create", 201, "soak-1-config-3", "c") +
		event("tamperer", "patch", 200, "soak-1-config-3", "a") + event("Helm/3", "patch", 200, "soak-1-config-2", "a") +
		`{"verb":"create"`
	entries, err := journalOf(t, log).read(stray)
	check.NoError(t, err)
	var agents []string
	for _, e := range entries {
		agents = append(agents, e.UserAgent)
	}
	check.Equal(t, strings.Join(agents, " "), "Helm/3 tamperer", "it tells of")
}

func TestWhoLeftAnObjectBehind(t *testing.T) {
	for _, c := range []struct {
		name, log string
		manifests []string
		atFault   string
	}{
		{"Helm, with a record that is gone", event("Helm/4.3.1 (linux)", "patch", 201, stray.name, "a"),
			[]string{silent}, ""},
		{"Helm, and the operator wrote to it later",
			event("Helm/3", "create", 201, stray.name, "a") + event("helm-locker/dev", "patch", 200, stray.name,
				"a"), []string{silent}, ""},
		{"Helm, with a record that exists", event("Helm/3", "create", 201, stray.name, "a"),
			[]string{declaring, silent}, "v1, which exists"},
		{"Helm, with no release any more", event("Helm/3", "create", 201, stray.name, "a"), nil, ""},
		{"the operator", event("helm-locker/dev", "create", 201, stray.name, "a"), []string{silent},
			`created by "helm-locker/dev"`},
		{"the operator, after Helm had deleted its own",
			event("Helm/3", "create", 201, stray.name, "b") + event("helm-locker/dev", "create", 201, stray.name,
				"a"), []string{silent}, `created by "helm-locker/dev"`},
		{"nobody knows who", event("Helm/3", "patch", 200, stray.name, "a"), []string{silent}, `created by ""`},
		{"Helm created another", event("Helm/3", "create", 201, "soak-1-config-2", "a"), []string{silent}, `created by ""`},
	} {
		entries, err := journalOf(t, c.log).read(stray)
		check.NoError(t, err)
		records := map[string]*release.Release{}
		for i, manifest := range c.manifests {
			records[fmt.Sprintf("v%d", i+1)] = &release.Release{Manifest: manifest}
		}
		err = leftByHelm(creator(entries, stray, "a"), records, stray)
		check.That(t,
			(c.atFault != "" || err == nil) && (c.atFault == "" || err != nil && strings.Contains(err.Error(), c.atFault)),
			"%s: got %v, want %q", c.name, err, c.atFault)
	}
}
