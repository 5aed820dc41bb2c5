package notify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/severity"
)

// event is a message with the severity of its drift, which is empty for another one, and the name of the cluster, which
// is empty without one.
type event struct {
	message.Event
	Severity severity.Level
	Cluster  string
}

// encoder returns the body of a message and its media type.
type encoder func(e event) (body []byte, mediaType string, err error)

const jsonMediaType = "application/json"

// encodeCloudEvent returns the CloudEvent. The severity and the cluster are extension attributes of it.
func encodeCloudEvent(e event) ([]byte, string, error) {
	body, err := json.Marshal(e.Event)
	if err == nil && (e.Severity != "" || e.Cluster != "") {
		attributes := map[string]any{}
		if err = json.Unmarshal(body, &attributes); err == nil {
			for name, value := range map[string]string{"severity": string(e.Severity), "cluster": e.Cluster} {
				if value != "" {
					attributes[name] = value
				}
			}
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
		Cluster  string         `json:"cluster,omitempty"`
		*message.Message
	}{e.ID, e.Type, e.Time.UTC().Format(time.RFC3339Nano), e.Severity, e.Cluster, e.Message})
	if err != nil {
		return nil, "", fmt.Errorf("encode a message: %w", err)
	}
	return body, jsonMediaType, nil
}
