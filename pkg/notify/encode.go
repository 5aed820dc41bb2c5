package notify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rancher/helm-locker/pkg/message"
)

// encoder returns the body of a message and its media type.
type encoder func(id string, m *message.Message) (body []byte, mediaType string, err error)

const jsonMediaType = "application/json"

func encodeCloudEvent(id string, m *message.Message) ([]byte, string, error) {
	body, err := json.Marshal(message.Event{ID: id, Message: m})
	if err != nil {
		return nil, "", err
	}
	return body, "application/cloudevents+json; charset=utf-8", nil
}

func encodeJSON(id string, m *message.Message) ([]byte, string, error) {
	body, err := json.Marshal(struct {
		ID   string       `json:"id"`
		Type message.Type `json:"type"`
		Time string       `json:"time"`
		*message.Message
	}{id, m.Type, m.Time.UTC().Format(time.RFC3339Nano), m})
	if err != nil {
		return nil, "", fmt.Errorf("encode a message: %w", err)
	}
	return body, jsonMediaType, nil
}
