// Package evidence keeps the events of operators as lines in files that prove their order: each line has the digest of
// the line before it. It writes them, reads them, and finds a line that was changed, moved or removed. A line names
// fields and users, and never has a value.
package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
)

// The types of the lines that are no events of an operator.
const (
	// Watched lines prove a time in which all events of an operator were read.
	Watched message.Type = "io.cattle.helm.evidence.watched"
	// GapFound lines name a time in which events may be missing.
	GapFound message.Type = "io.cattle.helm.evidence.gap"
	// StateRead lines have the state of a lock as the API server has it.
	StateRead message.Type = "io.cattle.helm.evidence.state"
	// Denied lines have a request that the guard refused.
	Denied message.Type = "io.cattle.helm.evidence.denied"
)

// Line is a line of a file: a CloudEvent with four more attributes.
type Line struct {
	SpecVersion     string       `json:"specversion"`
	ID              string       `json:"id"`
	Source          string       `json:"source"`
	Type            message.Type `json:"type"`
	Subject         string       `json:"subject,omitempty"`
	Time            time.Time    `json:"time"`
	DataContentType string       `json:"datacontenttype"`
	Data            Data         `json:"data"`

	// Cluster is the name of the cluster, and Lease that of the operator's Lease, for a line about an operator.
	Cluster string `json:"cluster"`
	Lease   string `json:"lease,omitempty"`
	// Recorded is when the line was written.
	Recorded time.Time `json:"recorded"`
	// Previous is the digest of the line before it.
	Previous string `json:"previous"`
}

// Data is the content of a line: a message of an operator, or one more field.
type Data struct {
	message.Message
	Watched *Span  `json:"watched,omitempty"`
	Gap     *Gap   `json:"gap,omitempty"`
	Pause   *Pause `json:"pause,omitempty"`
	Rules   *Rules `json:"rules,omitempty"`
	// Writer is the user who stored the record of the locked revision, if the operator witnessed that.
	Writer string `json:"writer,omitempty"`
}

// Span is a time in which an operator's events were read, up to a position.
type Span struct {
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	Position string    `json:"position"`
}

// Gap is a time in which events may be missing.
type Gap struct {
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Reason Reason    `json:"reason"`
	// Count is the number of missing events, as far as it is known.
	Count int `json:"count,omitempty"`
}

// Reason is the cause of a gap.
type Reason string

// The reasons of gaps.
const (
	// OperatorStopped: an operator ended, and no event was missed until the next one began.
	OperatorStopped Reason = "OperatorStopped"
	// OperatorChanged: another operator leads, and the last events of the one before were not read.
	OperatorChanged Reason = "OperatorChanged"
	// EventsMissed: the operator had the events no more when they were read.
	EventsMissed Reason = "EventsMissed"
	// NotWritten: lines could not be written.
	NotWritten Reason = "NotWritten"
	// LineTorn: the line before this one was not written completely, because the process was killed.
	LineTorn Reason = "LineTorn"
	// StatesNotRead: the HelmReleases could not be listed, so pauses and denied requests may be missing.
	StatesNotRead Reason = "StatesNotRead"
)

// Pause is the pause in the spec of a HelmRelease.
type Pause struct {
	Reason string     `json:"reason,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	// User is the user of the pause, as its annotation has it.
	User string `json:"user,omitempty"`
	// Manager is the field manager that paused, and Since the time of its last write, as managedFields has them.
	Manager string     `json:"manager,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

// Rules are the settings of a lock in the spec of a HelmRelease.
type Rules struct {
	Mode    v1alpha1.Mode         `json:"mode,omitempty"`
	Scope   v1alpha1.Scope        `json:"scope,omitempty"`
	Guard   v1alpha1.Guard        `json:"guard,omitempty"`
	Account string                `json:"serviceAccountName,omitempty"`
	Ignore  []v1alpha1.IgnoreRule `json:"ignore,omitempty"`
}

// Genesis is the digest in the first line of the first file.
var Genesis = strings.Repeat("0", 2*sha256.Size)

// Digest returns the digest of a line, without its line end: SHA-256 in hexadecimal.
func Digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// complete sets the attributes that the place of a line decides, and returns its bytes without a line end.
func (l *Line) complete(cluster, previous string, now time.Time) ([]byte, error) {
	l.SpecVersion, l.DataContentType, l.Cluster, l.Previous = "1.0", "application/json", cluster, previous
	l.Recorded, l.Source, l.Subject = now.UTC(), l.Data.Source(), l.Data.Subject()
	if l.Time.IsZero() {
		l.Time = now
	}
	l.Time = l.Time.UTC()
	if l.ID == "" {
		l.ID = "evidence-" + previous[:16]
	}
	text, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode a line of evidence: %w", err)
	}
	return text, nil
}

// ErrInUse is the error for a directory to which another process writes. Two chains in it would fork.
var ErrInUse = errors.New("another process writes evidence to the directory")
