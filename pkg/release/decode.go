package release

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// DefaultLimit bounds the decompressed payload, in bytes. A Secret or ConfigMap holds at most 1 MiB, three quarters
// of that after base64; real charts compress by a factor of 5 to 20. 32 MiB is far above that, and far below the
// 1000-fold size of a decompression bomb.
const DefaultLimit int64 = 32 << 20

// DecodeRecord decodes the payload in the Secret or ConfigMap of a record (without Kubernetes' own base64 of a Secret),
// with DefaultLimit. Large, unless nil, is called before more than 4 MiB of it are decompressed. It may wait for
// memory.
func DecodeRecord(payload []byte, large func()) (*Release, error) {
	return decode(payload, DefaultLimit, nil, large)
}

// Decode decodes a release payload: base64 over gzip over JSON, or base64 over JSON as in the oldest Helm. It
// decompresses at most limit bytes, and skips parts not needed for locking (templates, values, hooks) while reading.
// The release is nil when there is an error, except for ErrNoManifest, with which only the manifest is missing. Each
// member is offered to also first, unless that is nil.
//
// The payload is a secret: no error contains any part of it, only positions and names of fields.
func Decode(payload []byte, limit int64, also Member) (*Release, error) {
	return decode(payload, limit, also, nil)
}

func decode(payload []byte, limit int64, also Member, large func()) (*Release, error) {
	if len(bytes.TrimSpace(payload)) == 0 {
		return nil, fmt.Errorf("%w: data key %q is missing or empty; %s", ErrNoPayload, DataKey, advice)
	}
	r, err := inflate(payload, limit, large)
	if err != nil {
		return nil, explain(err)
	}
	s := Stream{dec: json.NewDecoder(r), in: r, also: also}
	rel, err := s.release()
	if err != nil {
		return nil, explain(err)
	}
	if err := s.end(); err != nil {
		return nil, explain(err)
	}
	if err := rel.complete(); err != nil {
		if errors.Is(err, ErrNoManifest) {
			return rel, err
		}
		return nil, err
	}
	return rel, nil
}

// inflate returns the JSON of the payload. Like Helm, it detects compression by gzip's magic number.
func inflate(payload []byte, limit int64, large func()) (*bounded, error) {
	plain := bufio.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(payload)))
	head, err := plain.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(head, []byte{0x1f, 0x8b, 0x08}) {
		return newBounded(plain, limit, large), nil
	}
	inflated, err := gzip.NewReader(plain)
	if err != nil {
		return nil, err
	}
	return newBounded(inflated, limit, large), nil
}

// complete checks the required fields of a stored release.
func (r *Release) complete() error {
	var missing string
	switch {
	case r.Name == "":
		missing = "name"
	case r.Namespace == "":
		missing = "namespace"
	case r.Revision < 1:
		missing = "version"
	case r.Status == "":
		missing = "info.status"
	case r.Manifest == "":
		return fmt.Errorf("%w: it has hooks only or no objects at all, so that there is nothing to lock", ErrNoManifest)
	default:
		return nil
	}
	return fmt.Errorf("%w: it has no %s; %s", ErrIncomplete, missing, advice)
}

// explain replaces errors of the standard library, some of which quote their input, by errors without quotes.
func explain(err error) error {
	var (
		base64Err base64.CorruptInputError
		syntaxErr *json.SyntaxError
		fieldErr  *fieldError
		boundErr  *boundError
	)
	switch {
	case errors.As(err, &boundErr):
		return fmt.Errorf("%w: %s; shrink the chart (values, files, CRDs) and upgrade the release", ErrTooLarge,
			boundErr.bound)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it ends before the release does; %s", ErrTruncated, advice)
	case errors.As(err, &base64Err):
		return fmt.Errorf("%w: it is not base64 at byte %d; %s", ErrFormat, int64(base64Err), advice)
	case errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: its gzip checksum is wrong; %s", ErrFormat, advice)
	case errors.As(err, &fieldErr):
		return fmt.Errorf("%w: field %q %s; %s", ErrFormat, fieldErr.field, fieldErr.problem, advice)
	case errors.As(err, &syntaxErr):
		return fmt.Errorf("%w: it is not JSON at byte %d; %s", ErrFormat, syntaxErr.Offset, advice)
	default:
		return fmt.Errorf("%w: it is neither gzip nor JSON throughout; %s", ErrFormat, advice)
	}
}
