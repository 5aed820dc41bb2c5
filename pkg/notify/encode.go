package notify

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// encoder returns the body of a message and its media type.
type encoder func(id string, m *Message) (body []byte, mediaType string, err error)

const jsonMediaType = "application/json"

// source is the API path below which the operator's HelmReleases are.
const source = "/apis/helm.cattle.io/v1alpha1"

// cloudEvent is the envelope of the CloudEvents specification, version 1.0.2, in its JSON format. It is written out
// here because it is these eight names; the SDK's part is the sending, whose retries, queue and logging are not
// what is wanted here.
type cloudEvent struct {
	SpecVersion     string   `json:"specversion"`
	ID              string   `json:"id"`
	Source          string   `json:"source"`
	Type            Type     `json:"type"`
	Subject         string   `json:"subject,omitempty"`
	Time            string   `json:"time"`
	DataContentType string   `json:"datacontenttype"`
	Data            *Message `json:"data"`
}

func encodeCloudEvent(id string, m *Message) ([]byte, string, error) {
	body, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: id, Source: sourceOf(m), Type: m.Type, Subject: subjectOf(m),
		Time: m.Time.UTC().Format(time.RFC3339Nano), DataContentType: "application/json", Data: m,
	})
	if err != nil {
		return nil, "", fmt.Errorf("encode a CloudEvent: %w", err)
	}
	return body, "application/cloudevents+json; charset=utf-8", nil
}

func encodeJSON(id string, m *Message) ([]byte, string, error) {
	body, err := json.Marshal(struct {
		ID   string `json:"id"`
		Type Type   `json:"type"`
		Time string `json:"time"`
		*Message
	}{id, m.Type, m.Time.UTC().Format(time.RFC3339Nano), m})
	if err != nil {
		return nil, "", fmt.Errorf("encode a message: %w", err)
	}
	return body, jsonMediaType, nil
}

// sourceOf returns the path of the HelmRelease in the API, a URI reference as the specification asks for.
func sourceOf(m *Message) string {
	if m.HelmRelease == nil {
		return source
	}
	return source + "/namespaces/" + url.PathEscape(m.HelmRelease.Namespace) + "/helmreleases/" +
		url.PathEscape(m.HelmRelease.Name)
}

// subjectOf returns the object that a message is about, or else the release.
func subjectOf(m *Message) string {
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
