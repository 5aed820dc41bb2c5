package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadAudit calls take with each line of an audit log from an offset on. A line is an event as JSON. An offset inside
// a line skips the rest of that line: the size of the log may have been read in the middle of a write. A last line
// without a line end is incomplete and left out. An error of take ends the reading.
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
