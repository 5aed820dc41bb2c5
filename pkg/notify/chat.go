package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/plain"
)

const (
	// slackText is the limit of Slack for a section, in characters. The code counts bytes, which are never fewer.
	slackText = 3000
	// factText bounds one value, in bytes. A card has at most seven long values, and JSON makes at most six bytes of
	// one, so a card stays below the 28 KB of Teams.
	factText = 600
)

// titles are the first line of a message.
var titles = map[message.Type]string{
	message.DriftReverted:    "A change was reverted",
	message.DriftRecreated:   "A deleted object was re-created",
	message.DriftReplaced:    "A changed object was deleted and re-created",
	message.DriftPruned:      "An object of an earlier revision was deleted",
	message.DriftReported:    "An object has drifted",
	message.DriftRefused:     "The API server refuses to revert a change",
	message.DriftDenied:      "A change was denied",
	message.LockChanged:      "The lock of a release has changed",
	message.ContentionBegan:  "Another writer keeps changing an object back",
	message.ContentionEnded:  "No one fights over the objects of a release any more",
	message.WriterUnexpected: "An unexpected user deployed a revision",
	message.MessagesWereLost: "Notifications were lost",
}

// titleOf returns the first line of a message.
func titleOf(m *message.Message) string {
	if m.Type == message.DriftRecreated && m.Drift != nil && m.Drift.Operation == v1alpha1.DriftMissing {
		return "A missing object was created"
	}
	return titles[m.Type]
}

// fact is a line of a message.
type fact struct{ name, value string }

// factsOf returns the facts of a message for people. Tenants choose some of the values (names of fields and managers),
// so each value is one line of bounded length.
func factsOf(e event) []fact {
	m := e.Message
	var facts []fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, plain.Cut(oneLine(value), factText)})
		}
	}
	add("Cluster", e.Cluster)
	if m.Release != nil {
		add("Release", m.Release.Namespace+"/"+m.Release.Name)
	}
	switch {
	case m.Drift != nil:
		d := m.Drift
		add("Severity", string(e.Severity))
		add("Object", d.Object.String())
		add("Fields", fields(d.Paths, d.MorePaths))
		if len(d.Paths) == 0 {
			add("Change", strings.ToLower(string(d.Operation)))
		}
		add("Changed by", d.FieldManager)
		add("User", d.Sender())
		if d.Duration != nil {
			add("Lived", d.Duration.Duration.String())
		}
	case m.Lock != nil:
		locked := "no"
		if m.Lock.Locked {
			locked = fmt.Sprintf("yes, revision %d", m.Lock.Revision)
		}
		add("Locked", locked)
		add("Reason", m.Lock.Reason)
		add("Message", m.Lock.Message)
	case m.Contention != nil:
		if m.Contention.Object != nil {
			add("Object", m.Contention.Object.String())
		}
		add("Fields", fields(m.Contention.Paths, m.Contention.MorePaths))
		add("Changed by", m.Contention.FieldManager)
		add("Message", m.Contention.Message)
	case m.Unexpected != nil:
		add("Revision", fmt.Sprint(m.Unexpected.Revision))
		add("User", m.Unexpected.User)
	case m.Lost != nil:
		add("Count", count(m.Lost))
		add("Since", m.Lost.Since.UTC().Format(time.RFC3339))
	}
	return facts
}

func count(lost *message.Lost) string {
	switch {
	case lost.Unknown && lost.Count == 0:
		return "unknown"
	case lost.Unknown:
		return fmt.Sprintf("%d or more", lost.Count)
	}
	return fmt.Sprint(lost.Count)
}

func fields(paths []string, more int) string {
	text := strings.Join(paths, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// oneLine replaces unprintable characters, line ends among them, by spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// slackEscaper escapes the three special characters of Slack, so that no name is a link or a mention.
var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

type slackMessage struct {
	Text   string       `json:"text"` // for the notification of the client
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type string       `json:"type"`
	Text slackContent `json:"text"`
}

type slackContent struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Verbatim bool   `json:"verbatim"` // no links are made of what looks like one
}

// encodeSlack returns a message for an incoming webhook of Slack: a section for the title and one for each fact.
func encodeSlack(m event) ([]byte, string, error) {
	title := titleOf(m.Message)
	built := slackMessage{Text: title, Blocks: []slackBlock{slackSection("*" + title + "*")}}
	if m.Release != nil {
		built.Text += ": " + slackEscaper.Replace(oneLine(m.Release.Namespace+"/"+m.Release.Name))
	}
	for _, f := range factsOf(m) {
		// Escaping makes at most five bytes of one.
		value := slackEscaper.Replace(plain.Cut(f.value, (slackText-len("*: *")-len(f.name))/5))
		built.Blocks = append(built.Blocks, slackSection("*"+f.name+":* "+value))
	}
	return encodeChat(built)
}

func slackSection(text string) slackBlock {
	return slackBlock{"section", slackContent{"mrkdwn", text, true}}
}

type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string       `json:"contentType"`
	Content     adaptiveCard `json:"content"`
}

type adaptiveCard struct {
	Schema  string         `json:"$schema"`
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Body    []richText     `json:"body"`
	Teams   map[string]any `json:"msteams"`
}

// richText is the only text element of Adaptive Cards without Markdown, so no name is a link. It needs version 1.2.
type richText struct {
	Type    string    `json:"type"`
	Inlines []textRun `json:"inlines"`
}

type textRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
	Size   string `json:"size,omitempty"`
}

// encodeTeams returns a message for a Workflows webhook of Microsoft Teams: an Adaptive Card in its envelope.
func encodeTeams(m event) ([]byte, string, error) {
	const bold = "bolder"
	body := []richText{{"RichTextBlock", []textRun{{"TextRun", titleOf(m.Message), bold, "medium"}}}}
	for _, f := range factsOf(m) {
		body = append(body, richText{"RichTextBlock",
			[]textRun{{"TextRun", f.name + ": ", bold, ""}, {"TextRun", f.value, "", ""}}})
	}
	const adaptive = "application/vnd.microsoft.card.adaptive"
	return encodeChat(teamsMessage{"message", []teamsAttachment{{adaptive, adaptiveCard{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.2", Body: body,
		Teams: map[string]any{"width": "Full"},
	}}}})
}

func encodeChat(content any) ([]byte, string, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, "", fmt.Errorf("encode a chat message: %w", err)
	}
	return body, jsonMediaType, nil
}
