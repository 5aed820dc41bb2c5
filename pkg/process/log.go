package process

import (
	"errors"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/plain"
)

// NewLogger returns a logger that writes to w at a level (error, warn, info, debug, trace) in a format (text, json).
func NewLogger(w io.Writer, level, format string) (*logrus.Logger, error) {
	log := logrus.New()
	log.SetOutput(w)
	parsed, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, errors.New("log level " + level + ": use error, warn, info, debug or trace")
	}
	log.SetLevel(parsed)
	switch format {
	case "json":
		log.SetFormatter(&logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano})
	case "text", "":
		log.SetFormatter(neutral{&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "15:04:05.000"}})
	default:
		return nil, errors.New("log format " + format + ": use text or json")
	}
	return log, nil
}

// neutral keeps quotes of the cluster in a message from moving the cursor of a terminal, or passing for a line of their
// own. logrus quotes fields, and on a terminal no messages.
type neutral struct{ logrus.Formatter }

func (n neutral) Format(entry *logrus.Entry) ([]byte, error) {
	if line := plain.Line(entry.Message); line != entry.Message {
		copied := *entry
		copied.Message = line
		entry = &copied
	}
	return n.Formatter.Format(entry)
}
