package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/severity"
)

// templateOutput bounds the output of a template for one message, in bytes.
const templateOutput = 256 << 10

var errTooLong = fmt.Errorf("the output is longer than %d KiB", templateOutput>>10)

// templateData is the data of a template: the message and its envelope.
type templateData struct {
	ID      string
	Source  string
	Subject string
	Title   string // a sentence
	// Severity is that of a drift, and empty for another message.
	Severity string
	// Cluster is the name of the cluster, empty without one.
	Cluster string
	*message.Message
}

var functions = template.FuncMap{
	"json": func(v any) (string, error) {
		text, err := json.Marshal(v)
		return string(text), err
	},
	"slack": slackEscaper.Replace,
}

// templated returns the encoder of a template file. The template is tried on a message of each type: a mistake in it is
// an error with its line.
func templated(file string) (encoder, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("notification template file: %w", err)
	}
	t, err := template.New(filepath.Base(file)).Funcs(functions).Parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("notification template: %w", err)
	}
	encode := func(e event) ([]byte, string, error) { return encodeTemplate(t, e) }
	for _, m := range samples() {
		sample := event{Event: message.Event{ID: "00000000-0000-0000-0000-000000000000", Message: m}}
		if m.Drift != nil {
			sample.Severity = severity.High
		}
		if _, _, err := encode(sample); err != nil {
			return nil, fmt.Errorf("notification template, for a message of type %s: %w", m.Type, err)
		}
	}
	return encode, nil
}

// encodeTemplate returns the output of a template for a message, with the media type of JSON if it is valid JSON.
func encodeTemplate(t *template.Template, e event) ([]byte, string, error) {
	var out bounded
	err := t.Execute(&out, templateData{ID: e.ID, Source: e.Source(), Subject: e.Subject(), Title: titleOf(e.Message),
		Severity: string(e.Severity), Cluster: e.Cluster, Message: e.Message})
	switch {
	case errors.Is(err, errTooLong):
		return nil, "", errTooLong
	case err != nil:
		return nil, "", err
	}
	body := bytes.TrimSpace(out.Bytes())
	if json.Valid(body) {
		return body, jsonMediaType, nil
	}
	return body, "text/plain; charset=utf-8", nil
}

// bounded is a buffer of at most templateOutput bytes.
type bounded struct{ bytes.Buffer }

// Write writes all of p or fails.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > templateOutput {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// samples returns messages of each type, with and without the optional fields of a drift.
func samples() []*message.Message {
	at := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	object := v1alpha1.DriftedObject{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "shop"}
	drift := v1alpha1.DriftRecord{Time: metav1.NewMicroTime(at), Object: object,
		Operation: v1alpha1.DriftModified, Action: v1alpha1.DriftActionReverted}
	fullDrift := drift
	fullDrift.Paths, fullDrift.MorePaths, fullDrift.FieldManager = []string{"/spec/replicas"}, 1, "kubectl-edit"
	fullDrift.Duration, fullDrift.ChangeTime = &metav1.Duration{Duration: time.Second}, &metav1.Time{Time: at}

	var all []*message.Message
	for _, kind := range slices.Sorted(maps.Keys(titles)) {
		add := func(m message.Message) {
			m.Type, m.Time = kind, at
			if m.Lost == nil {
				m.HelmRelease = &message.Reference{Namespace: "cattle-helm-system", Name: "shop"}
				m.Release = &message.Reference{Namespace: "apps", Name: "shop"}
			}
			all = append(all, &m)
		}
		switch kind {
		case message.LockChanged:
			add(message.Message{Lock: &message.Lock{Reason: v1alpha1.ReasonSuspended}})
		case message.ContentionBegan:
			add(message.Message{Contention: &message.Contention{Object: &object, Paths: fullDrift.Paths}})
		case message.ContentionEnded:
			add(message.Message{Contention: &message.Contention{Message: "over"}})
		case message.WriterUnexpected:
			add(message.Message{Unexpected: &message.Writer{Revision: 8, User: "alice"}})
		case message.MessagesWereLost:
			add(message.Message{Lost: &message.Lost{Count: 1, Since: at}})
		default:
			add(message.Message{Drift: &drift})
			add(message.Message{Drift: &fullDrift})
		}
	}
	return all
}
