package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func templateFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify.tmpl")
	check.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTemplateMakesTheBody(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.TemplateFile = templateFile(t, `{{- with .Drift }}
{"text": {{ printf "%s: %s by %s" $.Title $.Subject .FieldManager | json }}, "id": {{ json $.ID }},
 "paths": {{ json .Paths }}, "release": {{ json $.Release.Name }}, "escaped": {{ slack "<a & b>" | json }}}
{{- end }}`)
	})
	b.run()
	b.Send(&message.Message{Type: message.LockChanged, Lock: &message.Lock{}}) // comes out empty, and is not sent
	b.answers <- ok
	b.Send(drifted("web"))
	got := <-b.got
	want := map[string]any{"text": "A change was reverted: Deployment.apps apps/web by kubectl-edit",
		"release": "shop", "escaped": "&lt;a &amp; b&gt;"}
	for key, value := range want {
		check.That(t, got.body[key] == value, "%s is %v, want %v", key, got.body[key], value)
	}
	check.That(t, got.header.Get("Content-Type") == "application/json" && got.body["id"] != "", "received %+v", got)
	b.stop()
	b.counts.expect(t, map[string]int{ResultSkipped: 1, ResultSent: 1}, 0)
}

func TestTemplateOfOtherText(t *testing.T) {
	encode, err := templated(templateFile(t, "{{ .Type }} {{ .Time.Unix }}\n"))
	check.NoError(t, err)
	body, mediaType, err := encode(event{Event: message.Event{ID: "1", Message: drifted("web")}})
	check.That(t,
		err == nil && strings.HasPrefix(string(body), "io.cattle.helm.drift.reverted ") &&
			mediaType == "text/plain; charset=utf-8", "%q, %s, %v", body, mediaType, err)
}

// A receiver of a message about lost ones may not want it. It is not made again and again.
func TestLostMessagesThatATemplateSkips(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.TemplateFile = templateFile(t, `{{ with .Drift }}{"subject": {{ json $.Subject }}}{{ end }}`)
	})
	for range queueLength + 1 {
		b.Send(drifted("web"))
	}
	b.run()
	for range queueLength {
		b.answers <- ok
		<-b.got
	}
	b.stop()
	b.counts.expect(t, map[string]int{ResultDropped: 1, ResultSkipped: 1, ResultSent: queueLength}, 0)
}

func TestBadTemplatesAreErrorsWithTheirLine(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"does not parse":    {"a\n{{ if }}", "notify.tmpl:2"},
		"no such function":  {"{{ shout .Title }}", "notify.tmpl:1"},
		"no such field":     {"\n\n{{ .Drfit.Object }}", "notify.tmpl:3"},
		"not of every type": {"{{ .Drift.Object.Kind }}", "type io.cattle.helm.contention.began: template: notify.tmpl:1"},
		"not always there":  {"{{ with .Drift }}\n{{ .Duration.Seconds }}{{ end }}", "notify.tmpl:2"},
		"a typing error behind a condition": {"{{ with .Drift }}{{ with .Duration }}{{ .Sceonds }}{{ end }}{{ end }}",
			"Sceonds"},
		"too long": {"{{ range 1000000 }}0123456789{{ end }}", "longer than 256 KiB"},
	} {
		_, err := New(Options{URLs: []string{"https://ok.example"}, TemplateFile: templateFile(t, tc.text)},
			clock.RealClock{}, logrus.New(), &counts{})
		check.That(t, err != nil && strings.Contains(err.Error(), tc.want), "%s: error is %v, want %q", name, err,
			tc.want)
	}
	_, err := New(Options{TemplateFile: "/none/template"}, clock.RealClock{}, logrus.New(), &counts{})
	check.That(t, err != nil && strings.Contains(err.Error(), "/none/template"), "error is %v", err)
}
