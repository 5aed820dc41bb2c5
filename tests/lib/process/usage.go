package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Profile saves one of the operator's profiles, as in Profile(ctx, "profile?seconds=5", "storm.cpu"). It does nothing
// when the operator serves none.
func (p *Operator) Profile(ctx context.Context, what, file string) error {
	if !p.Pprof {
		return nil
	}
	content, err := Get(ctx, "http://localhost:6060/debug/pprof/"+what)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return os.WriteFile(file, content, 0o644)
}

// Resident is resident memory in bytes: the current value, the peak, and the current share of pages of the program's
// file. The system can drop those pages at any time.
type Resident struct{ Now, Most, Program int64 }

// Own returns the current memory without the program's file, in bytes: its resident pages depend on the system more
// than on the process.
func (r Resident) Own() int64 { return r.Now - r.Program }

// Memory returns the resident memory of the operator.
func (p *Operator) Memory() (r Resident, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.process.Pid))
	if err != nil {
		return r, fmt.Errorf("memory of the operator: %w", err)
	}
	fields := map[string]*int64{"VmRSS": &r.Now, "VmHWM": &r.Most, "RssFile": &r.Program}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		target := fields[name]
		if target == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return r, fmt.Errorf("memory of the operator: %w", err)
		}
		*target = kib << 10
	}
	return r, nil
}

// Sockets returns the number of the operator's open sockets, connections and listeners.
func (p *Operator) Sockets() (n int, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", p.process.Pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("open files of the operator: %w", err)
	}
	for _, file := range files {
		target, err := os.Readlink(filepath.Join(dir, file.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // it may have been closed since
			return 0, fmt.Errorf("open files of the operator: %w", err)
		}
		if strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n, nil
}

// ticksPerSecond is the unit of times in /proc, the same on every Linux supported by Go.
const ticksPerSecond = 100

// Processor returns the operator's processor time so far.
func (p *Operator) Processor() (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.process.Pid))
	if err != nil {
		return 0, fmt.Errorf("processor time of the operator: %w", err)
	}
	// The name, in parentheses, may contain spaces. The rest begins with field 3; utime is 14 and stime 15.
	_, rest, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("processor time of the operator: /proc has another form than expected")
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time of the operator: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}
