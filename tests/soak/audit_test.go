package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

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

// recordEvent is a line of an audit log about a record.
func recordEvent(t *testing.T, revision int, status, manifest string) string {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := fmt.Fprintf(
		w, `{"name":"soak-1","namespace":"soak-1","version":%d,"info":{"status":%q},"manifest":%q}`, revision, status,
		manifest,
	)
	check.NoError(t, err)
	check.NoError(t, w.Close())
	payload := base64Of(base64Of(zipped.String()))
	return fmt.Sprintf(`{"verb":"create","userAgent":"Helm/4.3.1","requestURI":"/api/v1/namespaces/soak-1/secrets","requestReceivedTimestamp":"2026-01-31T17:59:59Z",`+
		`"objectRef":{"resource":"secrets","namespace":"soak-1","name":"sh.helm.release.v1.soak-1.v%d"},"responseStatus":{"code":201},`+
		`"responseObject":{"type":"helm.sh/release.v1","data":{"release":%q}}}`+"\n", revision, payload)
}

func TestJournalTellsWhatHappened(t *testing.T) {
	log := event("Helm/3", "create", 201, "soak-1-config-3", "a") +
		event("helm-locker/dev", "patch", 409, "soak-1-config-3", "a") +
		strings.Replace(event("helm-locker/dev", "patch", 200, "soak-1-config-3", "a"), "configmaps", "configmaps?dryRun=All", 1) +
		strings.ReplaceAll(event("Helm/3", "create", 201, "soak-0-config-3", "b"), "soak-1", "soak-0") +
		`{"verb":"create","userAg` + event("killed", "create", 201, "soak-1-config-3", "c") +
		event("tamperer", "patch", 200, "soak-1-config-3", "a") + event("Helm/3", "patch", 200, "soak-1-config-2",
		"a") +
		`{"verb":"create"`
	entries, err := readJournal(strings.NewReader(log), stray)
	check.NoError(t, err)
	var agents []string
	for _, e := range entries {
		agents = append(agents, e.UserAgent)
	}
	if got := strings.Join(agents, " "); got != "Helm/3 tamperer" {
		t.Errorf("it tells of %q", got)
	}
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
		{"Helm created another", event("Helm/3", "create", 201, "soak-1-config-2", "a"), []string{silent},
			`created by ""`},
	} {
		entries, err := readJournal(strings.NewReader(c.log), stray)
		check.NoError(t, err)
		records := map[string]*release.Release{}
		for i, manifest := range c.manifests {
			records[fmt.Sprintf("v%d", i+1)] = &release.Release{Manifest: manifest}
		}
		err = leftByHelm(creator(entries, stray, "a"), records, stray)
		if c.atFault == "" && err != nil || c.atFault != "" &&
			(err == nil || !strings.Contains(err.Error(), c.atFault)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.atFault)
		}
	}
}

func TestStory(t *testing.T) {
	log := recordEvent(t, 3, "failed", declaring) + recordEvent(t, 4, "deployed", silent) +
		event("Helm/4.3.1 (linux/amd64)", "patch", 201, stray.name, "181ed9da-599d") +
		event("Helm/3", "patch", 200, "soak-1-config-0", "a")
	entries, err := readJournal(strings.NewReader(log), stray)
	check.NoError(t, err)
	want := "17:59:59.000 Helm/4.3.1 create 201: sh.helm.release.v1.soak-1.v3, failed, which declares the object\n" +
		"    17:59:59.000 Helm/4.3.1 create 201: sh.helm.release.v1.soak-1.v4, deployed\n" +
		"    18:00:00.123 Helm/4.3.1 patch 201: the object, uid 181ed9da version 7 m3k"
	if got := story(entries, stray); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEveryWaitHasABoundAndAName(t *testing.T) {
	err := within(t.Context(), time.Millisecond, "the end of the world", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "the end of the world took longer than 1ms") {
		t.Errorf("got %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := within(ended, time.Hour, "x", func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err,
		context.Canceled) || strings.Contains(err.Error(), "longer") {
		t.Errorf("the end of the run is told as %v", err)
	}
	refused := errors.New("refused")
	if err := within(t.Context(), time.Hour, "x", func(context.Context) error { return refused }); !errors.Is(err,
		refused) || err.Error() != "refused" {
		t.Errorf("an error is told as %v", err)
	}
}
