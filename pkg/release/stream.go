package release

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// fieldError names an invalid field of the payload, never its value. Field is empty for the payload itself.
type fieldError struct{ field, problem string }

func (e *fieldError) Error() string { return e.field + " " + e.problem }

const wrongType = "has the wrong type"

// WrongType returns the error of a Member for a value of another type than the field has; it becomes an ErrFormat.
func WrongType(field string) error { return &fieldError{field, wrongType} }

// Stream reads a release token by token, so that at most one wanted value is in memory at a time.
type Stream struct {
	dec  *json.Decoder
	in   *bounded
	also Member
}

// stored is a payload in Helm's own types. Helm 3's types have no field for the apply method of Helm 4.
type stored struct {
	helmrelease.Release
	applyMethod string
	first       firstHooks
}

func (s Stream) release() (*Release, error) {
	from := stored{Release: helmrelease.Release{Info: &helmrelease.Info{},
		Chart: &chart.Chart{Metadata: &chart.Metadata{}}}}
	err := s.object("release", func(key string) error {
		if s.also != nil {
			if read, err := s.also(s, key); read || err != nil {
				return err
			}
		}
		switch key {
		case "name":
			return s.Value(key, &from.Name)
		case "namespace":
			return s.Value(key, &from.Namespace)
		case "version":
			return s.Value(key, &from.Version)
		case "manifest":
			return s.Value(key, &from.Manifest)
		case "apply_method":
			return s.Value(key, &from.applyMethod)
		case "info":
			return s.info(from.Info)
		case "chart":
			return s.chart(from.Chart.Metadata)
		case "hooks":
			return s.Value(key, &from.first)
		}
		return s.skip()
	})
	if err != nil {
		return nil, err
	}
	switch from.applyMethod {
	case ApplyMethodServerSide, ApplyMethodClientSide, ApplyMethodUnset:
	default:
		return nil, &fieldError{"apply_method", "is neither ssa nor csa: this Helm is newer than helm-locker"}
	}
	return from.part(), nil
}

// part returns the part of a stored release needed for locking.
func (r *stored) part() *Release {
	rel := &Release{
		Key: Key{Namespace: r.Namespace, Name: r.Name}, Revision: r.Version, Manifest: r.Manifest,
		ApplyMethod: r.applyMethod,
		Description: r.Info.Description, Notes: r.Info.Notes,
		FirstDeployed: r.Info.FirstDeployed.Time, LastDeployed: r.Info.LastDeployed.Time,
		ChartName: r.Chart.Metadata.Name, ChartVersion: r.Chart.Metadata.Version,
		AppVersion: r.Chart.Metadata.AppVersion,
	}
	if r.Info.Status != "" {
		rel.Status = parseStatus(string(r.Info.Status))
	}
	rel.BeforeObjects, rel.Hooks = r.first.stand(rel.Status), r.first.names
	return rel
}

// info keeps the wanted parts of the release's info. Its resources could have any size; Helm does not store them.
func (s Stream) info(info *helmrelease.Info) error {
	return s.object("info", func(key string) error {
		field := "info." + key
		switch key {
		case "first_deployed":
			return s.Value(field, &info.FirstDeployed)
		case "last_deployed":
			return s.Value(field, &info.LastDeployed)
		case "description":
			return s.Value(field, &info.Description)
		case "status":
			return s.Value(field, &info.Status)
		case "notes":
			return s.Value(field, &info.Notes)
		}
		return s.skip()
	})
}

// chart keeps the chart's name and versions and skips templates, values and files, which are most of a payload.
func (s Stream) chart(metadata *chart.Metadata) error {
	return s.object("chart", func(key string) error {
		if key != "metadata" {
			return s.skip()
		}
		return s.object("chart.metadata", func(key string) error {
			field := "chart.metadata." + key
			switch key {
			case "name":
				return s.Value(field, &metadata.Name)
			case "version":
				return s.Value(field, &metadata.Version)
			case "appVersion":
				return s.Value(field, &metadata.AppVersion)
			}
			return s.skip()
		})
	})
}

// object reads an object and calls member after each key; member must read the value. null is an object without
// members.
func (s Stream) object(field string, member func(key string) error) error {
	token, err := s.dec.Token()
	if err != nil {
		return err
	}
	if token == nil {
		return nil
	}
	if token != json.Delim('{') {
		return WrongType(field)
	}
	for s.dec.More() {
		s.in.begin(maxValue)
		token, err := s.dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return WrongType(field)
		}
		if err := member(key); err != nil {
			return err
		}
	}
	_, err = s.dec.Token()
	return err
}

// Array reads an array and calls element at each element; element must read it. null is an array without elements.
func (s Stream) Array(field string, element func() error) error {
	token, err := s.dec.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return WrongType(field)
	}
	for s.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = s.dec.Token()
	return err
}

// Value decodes the value of a field into into, a pointer.
func (s Stream) Value(field string, into any) error { return s.ValueWithin(maxValue, field, into) }

// ValueWithin is Value for a value of at most this many bytes.
func (s Stream) ValueWithin(bytes int64, field string, into any) error {
	s.in.begin(bytes)
	err := s.dec.Decode(into)
	var (
		typeErr *json.UnmarshalTypeError
		timeErr *time.ParseError
	)
	switch {
	case errors.As(err, &typeErr):
		if typeErr.Field != "" {
			field += "." + typeErr.Field
		}
		return WrongType(field)
	case errors.As(err, &timeErr):
		return &fieldError{field, "is not a time"}
	}
	return err
}

// skipped is an unwanted value.
type skipped struct{}

// UnmarshalJSON takes any value.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// skip reads over one value of any kind.
func (s Stream) skip() error { return s.Value("", &skipped{}) }

// end checks that nothing follows the release. Reading to the end also makes gzip verify its checksum.
func (s Stream) end() error {
	switch _, err := s.dec.Token(); {
	case err == nil:
		return &fieldError{"release", "is followed by more data"}
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// Member reads the value of a member of a release, or returns false for a member that it leaves to the decoder.
type Member func(s Stream, key string) (read bool, err error)
