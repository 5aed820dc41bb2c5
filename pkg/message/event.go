package message

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// source is the API path below which the operator's HelmReleases are.
const source = "/apis/helm.cattle.io/v1alpha1"

// Event is a message with its identity. All readers and attempts see the same identity.
type Event struct {
	ID string
	*Message
}

// cloudEvent is the envelope of the CloudEvents specification, version 1.0.2, in its JSON format: eight names. The SDK
// would add a sender with retries, a queue and a log of its own.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            Type      `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            *Message  `json:"data"`
}

// MarshalJSON returns the event as a CloudEvent.
func (e Event) MarshalJSON() ([]byte, error) {
	body, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source(), Type: e.Type, Subject: e.Subject(),
		Time: e.Time.UTC(), DataContentType: "application/json", Data: e.Message,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a CloudEvent: %w", err)
	}
	return body, nil
}

// UnmarshalJSON reads a CloudEvent.
func (e *Event) UnmarshalJSON(text []byte) error {
	var read cloudEvent
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("decode a CloudEvent: %w", err)
	}
	if read.ID == "" || read.Type == "" || read.Data == nil {
		return fmt.Errorf("decode a CloudEvent: one without id, type or data")
	}
	e.ID, e.Message = read.ID, read.Data
	e.Type, e.Time = read.Type, read.Time
	return nil
}

// Source returns the path of the HelmRelease in the API, a URI reference as the specification asks for.
func (m *Message) Source() string {
	if m.HelmRelease == nil {
		return source
	}
	return source + "/namespaces/" + url.PathEscape(m.HelmRelease.Namespace) + "/helmreleases/" +
		url.PathEscape(m.HelmRelease.Name)
}

// Subject returns the object of a message, or else the release.
func (m *Message) Subject() string {
	switch {
	case m.Drift != nil:
		return m.Drift.Object.String()
	case m.Contention != nil && m.Contention.Object != nil:
		return m.Contention.Object.String()
	case m.Release != nil:
		return m.Release.Namespace + "/" + m.Release.Name
	}
	return ""
}
