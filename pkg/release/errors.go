package release

import (
	"errors"
)

// Errors of payloads. Every error of Decode and DecodeRecord is one of these (errors.Is); Matches
// returns ErrMismatch.
var (
	// ErrNoPayload: the record has no payload at all.
	ErrNoPayload = errors.New("release payload is missing")
	// ErrTooLarge: the payload decompresses to more than the limit.
	ErrTooLarge = errors.New("release payload is too large")
	// ErrTruncated: the payload ends too early.
	ErrTruncated = errors.New("release payload is truncated")
	// ErrFormat: the payload is not base64, gzip or JSON, or a field has the wrong type.
	ErrFormat = errors.New("release payload is malformed")
	// ErrIncomplete: the payload decodes, but lacks name, namespace, version or status.
	ErrIncomplete = errors.New("release payload is incomplete")
	// ErrNoManifest: the release has no objects but hooks, so there is nothing to lock.
	ErrNoManifest = errors.New("release has no manifest")
	// ErrMismatch: payload and metadata of the record belong to different releases.
	ErrMismatch = errors.New("release payload does not belong to its record")
)

// advice names the remedy. The release may come from another tool than the helm command. With that command, an upgrade
// would store its record in another namespace, and deploy the chart a second time.
const advice = "restore the record, or have the tool that deployed the release (helm, Flux, Rancher) deploy it again"
