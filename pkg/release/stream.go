package release

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// maxDepth bounds the nesting of what is skipped. encoding/json has the same bound for what it decodes.
const maxDepth = 10000

// fieldError names a field of the payload that cannot be used, never its value. Field is empty for the payload itself.
type fieldError struct{ field, problem string }

func (e *fieldError) Error() string { return e.field + " " + e.problem }

const wrongType = "has the wrong type"

// stream reads a release token by token, so that no more than one wanted value is in memory at a time.
type stream struct {
	dec *json.Decoder
	// details, when set, receives what DecodeDetails keeps beyond what locking needs.
	details *Details
}

// info is the part of the payload's info that is wanted. Times are strings: older Helm stores a zero time as "".
type info struct {
	FirstDeployed string `json:"first_deployed"`
	LastDeployed  string `json:"last_deployed"`
	Description   string `json:"description"`
	Status        string `json:"status"`
	Notes         string `json:"notes"`
}

func (s stream) release() (*Release, error) {
	var (
		rel  Release
		meta info
	)
	err := s.object("release", func(key string) error {
		switch key {
		case "name":
			return s.value(key, &rel.Name)
		case "namespace":
			return s.value(key, &rel.Namespace)
		case "version":
			return s.value(key, &rel.Revision)
		case "manifest":
			return s.value(key, &rel.Manifest)
		case "apply_method":
			return s.value(key, &rel.ApplyMethod)
		case "info":
			return s.value(key, &meta)
		case "chart":
			return s.chart(&rel)
		}
		return s.detail(key)
	})
	if err != nil {
		return nil, err
	}
	switch rel.ApplyMethod {
	case ApplyMethodServerSide, ApplyMethodClientSide, ApplyMethodUnset:
	default:
		return nil, &fieldError{"apply_method", "is neither ssa nor csa: this Helm is newer than helm-locker"}
	}
	rel.Description, rel.Notes = meta.Description, meta.Notes
	if meta.Status != "" {
		rel.Status = parseStatus(meta.Status)
	}
	if rel.FirstDeployed, err = parseTime("info.first_deployed", meta.FirstDeployed); err != nil {
		return nil, err
	}
	rel.LastDeployed, err = parseTime("info.last_deployed", meta.LastDeployed)
	return &rel, err
}

// chart keeps the chart's name and version and skips templates, values and files, which are most of a payload.
func (s stream) chart(rel *Release) error {
	return s.object("chart", func(key string) error {
		if key != "metadata" {
			return s.skip()
		}
		var metadata struct {
			Name       string `json:"name"`
			Version    string `json:"version"`
			AppVersion string `json:"appVersion"`
		}
		err := s.value("chart.metadata", &metadata)
		rel.ChartName, rel.ChartVersion = metadata.Name, metadata.Version
		if s.details != nil {
			s.details.AppVersion = metadata.AppVersion
		}
		return err
	})
}

// object reads an object and calls member after each key; member must read the value. null is an object without members.
func (s stream) object(field string, member func(key string) error) error {
	token, err := s.dec.Token()
	if err != nil {
		return err
	}
	if token == nil {
		return nil
	}
	if token != json.Delim('{') {
		return &fieldError{field, wrongType}
	}
	for s.dec.More() {
		token, err := s.dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return &fieldError{field, wrongType}
		}
		if err := member(key); err != nil {
			return err
		}
	}
	_, err = s.dec.Token()
	return err
}

func (s stream) value(field string, into any) error {
	err := s.dec.Decode(into)
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) {
		if typeErr.Field != "" {
			field += "." + typeErr.Field
		}
		return &fieldError{field, wrongType}
	}
	return err
}

// skip reads over one value of any kind.
func (s stream) skip() error {
	for depth := 0; ; {
		token, err := s.dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return &fieldError{"release", "is nested too deeply"}
		}
		if depth == 0 {
			return nil
		}
	}
}

// end checks that nothing follows the release. Reading to the end also makes gzip verify its checksum.
func (s stream) end() error {
	switch _, err := s.dec.Token(); {
	case err == nil:
		return &fieldError{"release", "is followed by more data"}
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

func parseTime(field, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, &fieldError{field, "is not a time"}
	}
	return t, nil
}
