// Package whole decodes all parts of a stored release that commands and the page show. The operator needs few of them,
// and does not import it.
package whole

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/rancher/helm-locker/pkg/release"
)

// Release is a stored release with parts for users that are not needed for locking. Values, like Notes, can hold
// passwords. A caller must mask the values that are in a Secret of the manifest before it shows them.
type Release struct {
	release.Release
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

// Decode is release.Decode with all parts, with the same bound on the decompressed size, the same errors, and the same
// exception: with ErrNoManifest, only the manifest is missing. Templates and files of the chart are skipped.
func Decode(payload []byte, limit int64) (*Release, error) {
	var whole Release
	rel, err := release.Decode(payload, limit, func(s release.Stream, key string) (bool, error) {
		switch key {
		case "config":
			return true, whole.config(s)
		case "hooks":
			return true, s.Array(key, func() error { return whole.hook(s) })
		}
		return false, nil
	})
	if rel == nil {
		return nil, err
	}
	whole.Release = *rel
	return &whole, err
}

// config keeps the values as text: an object, or null for none.
func (r *Release) config(s release.Stream) error {
	var raw json.RawMessage
	if err := s.Value("config", &raw); err != nil {
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
		return release.WrongType("config")
	case elements > maxElements:
		return release.OverBound(fmt.Sprintf("the values that the user gave have more than %d elements", maxElements))
	}
	r.Values = values.Bytes()
	return nil
}

// hook reads the next hook.
func (r *Release) hook(s release.Stream) error {
	if len(r.Hooks) == maxHooks {
		return release.OverBound(fmt.Sprintf("it has more than %d hooks", maxHooks))
	}
	var hook Hook
	if err := s.ValueWithin(maxHook, "hooks", &hook); err != nil {
		return err
	}
	r.Hooks = append(r.Hooks, hook)
	return nil
}

// Chart returns the chart in a record, as JSON: its metadata, templates, files and values. Helm records no sub-charts.
// Bounds and errors are those of Decode; a release without objects is none.
func Chart(payload []byte, limit int64) (json.RawMessage, error) {
	var chart json.RawMessage
	_, err := release.Decode(payload, limit, func(s release.Stream, key string) (bool, error) {
		if key != "chart" {
			return false, nil
		}
		return true, s.Value(key, &chart)
	})
	if err != nil && !errors.Is(err, release.ErrNoManifest) {
		return nil, err
	}
	if len(chart) == 0 || string(chart) == "null" {
		return nil, fmt.Errorf("%w: it has no chart", release.ErrIncomplete)
	}
	return chart, nil
}
