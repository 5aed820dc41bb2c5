package notify

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/severity"
)

// event is a message with the severity of its drift, which is empty for another one.
type event struct {
	message.Event
	Severity severity.Level
}

// encoder returns the body of a message and its media type.
type encoder func(e event) (body []byte, mediaType string, err error)

const jsonMediaType = "application/json"

// encodeCloudEvent returns the CloudEvent. The severity is an extension attribute of it.
func encodeCloudEvent(e event) ([]byte, string, error) {
	body, err := json.Marshal(e.Event)
	if err == nil && e.Severity != "" {
		attributes := map[string]json.RawMessage{}
		if err = json.Unmarshal(body, &attributes); err == nil {
			attributes["severity"] = json.RawMessage(strconv.Quote(string(e.Severity)))
			body, err = json.Marshal(attributes)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("encode a message: %w", err)
	}
	return body, "application/cloudevents+json; charset=utf-8", nil
}

func encodeJSON(e event) ([]byte, string, error) {
	body, err := json.Marshal(struct {
		ID       string         `json:"id"`
		Type     message.Type   `json:"type"`
		Time     string         `json:"time"`
		Severity severity.Level `json:"severity,omitempty"`
		*message.Message
	}{e.ID, e.Type, e.Time.UTC().Format(time.RFC3339Nano), e.Severity, e.Message})
	if err != nil {
		return nil, "", fmt.Errorf("encode a message: %w", err)
	}
	return body, jsonMediaType, nil
}
