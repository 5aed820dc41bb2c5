package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// Details is a stored release with parts for users that are not needed for locking. Values, like Notes, can hold
// passwords. A caller must mask the values that are in a Secret of the manifest before it shows them.
type Details struct {
	Release
	// AppVersion is the version of the deployed application according to the chart; often empty.
	AppVersion string
	// Values are the user's values, as a JSON object; nil when there were none. The chart's own values are not
	// included.
	Values json.RawMessage
	// Hooks are the hooks of the release. Helm runs them, and does not manage them.
	Hooks []Hook
}

// Hook is a hook of a release. Its manifest may hold Secrets.
type Hook = helmrelease.Hook

const (
	// maxHooks bounds the hooks of a release, maxHook the bytes of one.
	maxHooks = 10_000
	maxHook  = 4 << 20
	// maxElements bounds the user's values: decoded values take up to a hundred times the memory of their text.
	maxElements = 1 << 18
)

// DecodeDetails is Decode for Details, with the same bound on the decompressed size, the same errors, and the same
// exception: with ErrNoManifest, only the manifest is missing. Templates and files of the chart are skipped.
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

// detail reads a member of the release for Details, and skips it without details.
func (s stream) detail(key string) error {
	if s.details == nil {
		return s.skip()
	}
	switch key {
	case "config":
		return s.config()
	case "hooks":
		return s.hooks()
	}
	return s.skip()
}

// config keeps the values as text: an object, or null for none.
func (s stream) config() error {
	var raw json.RawMessage
	if err := s.value("config", &raw); err != nil {
		return err
	}
	var values bytes.Buffer
	if err := json.Compact(&values, raw); err != nil {
		return err
	}
	elements := 0
	for _, mark := range []string{",", "{", "["} {
		elements += bytes.Count(values.Bytes(), []byte(mark))
	}
	switch text := values.Bytes(); {
	case string(text) == "null", string(text) == "{}":
		return nil
	case text[0] != '{':
		return &fieldError{"config", wrongType}
	case elements > maxElements:
		return &boundError{fmt.Sprintf("the values that the user gave have more than %d elements", maxElements)}
	}
	s.details.Values = values.Bytes()
	return nil
}

// hooks reads the hooks one by one.
func (s stream) hooks() error {
	token, err := s.dec.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return &fieldError{"hooks", wrongType}
	}
	for s.dec.More() {
		if len(s.details.Hooks) == maxHooks {
			return &boundError{fmt.Sprintf("it has more than %d hooks", maxHooks)}
		}
		var hook Hook
		if err := s.valueWithin(maxHook, "hooks", &hook); err != nil {
			return err
		}
		s.details.Hooks = append(s.details.Hooks, hook)
	}
	_, err = s.dec.Token()
	return err
}
