package notify

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// hostile is a drift whose names a tenant has chosen to be links, mentions, other lines, and long.
func hostile() *message.Message {
	m := drifted("web")
	m.Drift.FieldManager = "<!channel> [click](https://evil.example) *bold*\n*User:* admin"
	m.Drift.User = strings.Repeat("&", 5000)
	m.Drift.Paths = nil
	for range v1alpha1.MaxDriftPaths {
		m.Drift.Paths = append(m.Drift.Paths, "/data/"+strings.Repeat("<\u2028é🌊\x01", 300))
	}
	m.Drift.MorePaths, m.Drift.Duration = 3, &metav1.Duration{Duration: time.Millisecond}
	return m
}

// everyMessage is one of each type, and the hostile one.
func everyMessage() []*message.Message { return append(samples(), hostile()) }

// send has a receiver of a format get every message, and returns the bodies.
func send(t *testing.T, o Options) []received {
	t.Helper()
	b := newBench(t, func(options *Options) { o.URLs = options.URLs; *options = o })
	b.run()
	var got []received
	for _, m := range everyMessage() {
		b.answers <- ok
		b.Send(m)
		got = append(got, <-b.got)
	}
	b.stop()
	return got
}

// A receiver that refuses what Slack documents to refuse: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
// https://docs.slack.dev/reference/block-kit/blocks/section-block and .../composition-objects/text-object.
func TestSlackTakesEveryMessage(t *testing.T) {
	control := regexp.MustCompile(`<|>|&(?:amp;|lt;|gt;)?`)
	for _, r := range send(t, Options{Format: FormatSlack}) {
		var m struct {
			Text   string
			Blocks []struct {
				Type string
				Text struct {
					Type, Text string
					Verbatim   bool
				}
			}
		}
		strict(t, r.body, &m)
		check.That(t,
			r.header.Get("Content-Type") == "application/json" && m.Text != "" && len(m.Blocks) > 0 && len(m.Blocks) <= 50,
			"%s: %v", r.header.Get("Content-Type"), r.body)
		texts := []string{m.Text}
		for _, b := range m.Blocks {
			check.That(t, b.Type == "section" && b.Text.Type == "mrkdwn" && b.Text.Verbatim, "block is %+v", b)
			n := len(utf16.Encode([]rune(b.Text.Text)))
			check.That(t, n >= 1 && n <= 3000, "a text has %d characters", n)
			texts = append(texts, b.Text.Text)
		}
		for _, text := range texts {
			for _, found := range control.FindAllString(text, -1) {
				check.Must(t, len(found) != 1, "a control character is not escaped in %q", text)
			}
			check.That(t, !strings.ContainsAny(text, "\n\u2028\x01"), "a name begins another line in %q", text)
		}
	}
}

// A receiver that refuses what Microsoft documents to refuse:
// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using and
// https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run.
func TestTeamsTakesEveryMessage(t *testing.T) {
	for _, r := range send(t, Options{Format: FormatTeams}) {
		raw, err := json.Marshal(r.body)
		check.That(t, err == nil && len(raw) <= 28<<10, "%d bytes, %v", len(raw), err)
		var m struct {
			Type        string
			Attachments []struct {
				ContentType string
				Content     struct {
					Schema        string `json:"$schema"`
					Type, Version string
					MSTeams       struct{ Width string }
					Body          []struct {
						Type    string
						Inlines []struct{ Type, Text, Weight, Size string }
					}
				}
			}
		}
		strict(t, r.body, &m)
		check.Must(t,
			m.Type == "message" && len(m.Attachments) == 1 &&
				m.Attachments[0].ContentType == "application/vnd.microsoft.card.adaptive", "the envelope is %+v", m)
		card := m.Attachments[0].Content
		check.That(t,
			card.Type == "AdaptiveCard" && card.Version == "1.2" && card.MSTeams.Width == "Full" && len(card.Body) > 0 &&
				card.Schema == "http://adaptivecards.io/schemas/adaptive-card.json", "the card is %+v", card)
		for _, element := range card.Body {
			// A TextBlock would read links out of names: it knows Markdown.
			check.That(t, element.Type == "RichTextBlock" && len(element.Inlines) > 0, "an element is %+v", element)
			for _, run := range element.Inlines {
				check.That(t, run.Type == "TextRun" && run.Text != "", "a run is %+v", run)
			}
		}
	}
}

// strict decodes what was received and knows no other field.
func strict(t *testing.T, body map[string]any, into any) {
	t.Helper()
	raw, err := json.Marshal(body)
	check.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	check.NoError(t, d.Decode(into))
}

func TestChatSaysWhatHappened(t *testing.T) {
	lived := &metav1.Duration{Duration: 26800 * time.Microsecond}
	drift := drifted("web")
	drift.Drift.Duration, drift.Drift.MorePaths = lived, 2
	missing := drifted("web")
	missing.Drift = &v1alpha1.DriftRecord{Object: drift.Drift.Object, Operation: v1alpha1.DriftMissing}
	for want, m := range map[string]*message.Message{
		"Release=apps/shop Object=Deployment.apps apps/web Fields=/spec/replicas and 2 more " +
			"Changed by=kubectl-edit Lived=26.8ms": drift,
		"Release=apps/shop Object=Deployment.apps apps/web Change=missing": missing,
		"Release=apps/shop Locked=yes, revision 3 Reason=Locked": {Type: message.LockChanged,
			Release: &message.Reference{Namespace: "apps", Name: "shop"}, Lock: &message.Lock{Locked: true, Revision: 3, Reason: "Locked"}},
		"Release=apps/shop Locked=no Reason=Suspended Message=until it is resumed": {Type: message.LockChanged,
			Release: &message.Reference{Namespace: "apps", Name: "shop"}, Lock: &message.Lock{Reason: "Suspended", Message: "until it is resumed"}},
		"Release=apps/shop Revision=8 User=alice": {Type: message.WriterUnexpected,
			Release: &message.Reference{Namespace: "apps", Name: "shop"}, Unexpected: &message.Writer{Revision: 8, User: "alice"}},
		"Count=7 Since=2026-01-31T18:00:00Z": {Type: message.MessagesWereLost,
			Lost: &message.Lost{Count: 7, Since: time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)}},
	} {
		var got []string
		for _, f := range factsOf(event{Event: message.Event{Message: m}}) {
			got = append(got, f.name+"="+f.value)
		}
		text := strings.Join(got, " ")
		check.That(t, text == want && titles[m.Type] != "", "facts are %s, want %s", text, want)
	}
}

func TestAMissingObjectWasNotDeleted(t *testing.T) {
	for operation, want := range map[v1alpha1.DriftOperation]string{
		v1alpha1.DriftMissing: "A missing object was created", v1alpha1.DriftDeleted: "A deleted object was re-created",
	} {
		m := &message.Message{Type: message.DriftRecreated, Drift: &v1alpha1.DriftRecord{Operation: operation}}
		for name, format := range map[string]encoder{"Slack": encodeSlack, "Teams": encodeTeams} {
			body, _, err := format(event{Event: message.Event{Message: m}})
			check.That(t, err == nil && strings.Contains(string(body), want), "%s, %s: %v: %s", name, operation, err,
				body)
		}
	}
}
