// Package render renders charts in a process of its own. Templates of a chart are programs of other people's: the
// process has no environment and no network, and it ends when it takes too long or too much.
package render

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/rancher/helm-locker/pkg/values"
)

// Command is the command of this program that calls Serve.
const Command = "render"

// maxOutput bounds what is read of the answer of the process.
const maxOutput = 64 << 20

// Request is the first message to the process. An answer to each lookup of its templates follows.
type Request struct {
	Source    *values.Source
	Questions []values.Question
	// Lookup permits lookups.
	Lookup bool
}

// reply is a message of the process: a lookup, or the last one.
type reply struct {
	// Lookup, if set, asks for objects of the cluster.
	Lookup  *lookup
	Answers *values.Answers
	Error   string
	// MissingCharts are the sub-charts that Helm did not record.
	MissingCharts []string
}

// lookup is a call of the function of that name in a template. Without a Name it lists objects, without a Namespace
// those of all namespaces.
type lookup struct{ APIVersion, Kind, Namespace, Name string }

// lookupReply is the answer to a lookup: an object or a list as JSON.
type lookupReply struct {
	Content json.RawMessage
	// Missing is set when the object does not exist, Error when it cannot be read.
	Missing bool
	Error   string
}

// errFull is the error of a boundedReader with nothing left.
var errFull = errors.New("too much output")

// boundedReader reads so many bytes, and fails when there are more.
type boundedReader struct {
	from io.Reader
	left int
	full bool
}

// Read is part of io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		b.full = true
		return 0, errFull
	}
	b.left -= n
	return n, err
}

// answers returns the last message.
func (r *reply) answers() (*values.Answers, error) {
	switch {
	case len(r.MissingCharts) > 0:
		return nil, &values.MissingChartsError{Names: r.MissingCharts}
	case r.Error != "":
		return nil, &Error{r.Error}
	}
	return r.Answers, nil
}

// Error is an error in the words of a chart's templates, which may quote any value.
type Error struct{ Text string }

func (e *Error) Error() string { return Shortened(e.Text) }

// Shortened keeps the beginning and the end of an error: that of a recursion repeats itself a thousand times.
func Shortened(text string) string {
	const most = 300
	if len(text) <= 2*most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " [...] " + strings.ToValidUTF8(text[len(text)-most:], "")
}
