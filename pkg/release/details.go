package release

import (
	"encoding/json"
	"errors"
)

// Details is a stored release with what people ask for and locking does not need. Values, like Notes, can hold
// passwords: a caller that shows them has to know what of them is in a Secret of the manifest.
type Details struct {
	Release
	// AppVersion is the version of what the chart deploys, as the chart says it; often empty.
	AppVersion string
	// Values are those that the user gave, as a JSON object; nil when there were none. The chart's own are not in it.
	Values json.RawMessage
	// Hooks are what Helm runs and does not manage.
	Hooks []Hook
}

// Hook is a hook of a release.
type Hook struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Path is the chart's file that it was rendered from.
	Path string `json:"path,omitempty"`
	// Events are when Helm runs it, for example "pre-upgrade".
	Events []string `json:"events,omitempty"`
	// Manifest is the rendered YAML. It may hold Secrets.
	Manifest string `json:"manifest,omitempty"`
	// Weight orders the hooks of one event.
	Weight int `json:"weight,omitempty"`
}

// DecodeDetails is Decode for all that Details holds, with the same bound on the decompressed size, the same errors, and
// the same exception: with ErrNoManifest, everything but the manifest is there. Templates and files of the chart are skipped.
func DecodeDetails(payload []byte, limit int64) (*Details, error) {
	var d Details
	rel, err := decode(payload, limit, &d, nil)
	if rel == nil {
		return nil, err
	}
	d.Release = *rel
	if err != nil && !errors.Is(err, ErrNoManifest) {
		return nil, err
	}
	return &d, err
}

// detail reads a member of the release that only Details has a place for, and skips it where there are none to be made.
func (s stream) detail(key string) error {
	if s.details == nil {
		return s.skip()
	}
	switch key {
	case "config":
		var values map[string]json.RawMessage
		if err := s.value(key, &values); err != nil || len(values) == 0 {
			return err
		}
		encoded, err := json.Marshal(values)
		s.details.Values = encoded
		return err
	case "hooks":
		return s.value(key, &s.details.Hooks)
	}
	return s.skip()
}
