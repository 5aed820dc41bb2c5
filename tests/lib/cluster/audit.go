package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadAudit calls take with each line of an audit log, which is an event as JSON, that begins at an offset or after it;
// an error of take ends it. An offset may be the size of the log while a line was being written, so it may be within
// that. What has no end of line is still being written, and left out.
func ReadAudit(path string, from int64, take func(line []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Seek(max(from-1, 0), io.SeekStart); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	lines := bufio.NewReader(file)
	if from > 0 { // the rest of the line before
		if _, err := lines.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the audit log: %w", err)
		}
	}
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(line)
		}
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
	}
}
