package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"
)

// maxFile is the size after which a file is followed by another one.
const maxFile = 64 << 20

const day = "20060102"

// Log appends lines to the files of a directory. A file ends with its day, in UTC, or with its size. It is not safe for
// concurrent use. The log of one process has a directory for itself until it is closed.
type Log struct {
	dir, cluster string
	clock        clock.PassiveClock
	max          int64

	lock     *os.File // held until Close
	file     *os.File // nil before the first line, and after an error
	size     int64
	begun    time.Time // zero for a file of an earlier log
	day      string
	number   int
	previous string
}

// Open returns a log that goes on after the last line of a directory. handle gets the lines of the last two days with
// files, and the denied requests of all others. A directory that does not exist is created. The error is [ErrInUse] if
// another log writes to it.
func Open(dir, cluster string, by clock.PassiveClock, handle func(*Line)) (*Log, error) {
	if cluster == "" {
		return nil, errors.New("evidence needs a name for the cluster (--evidence-cluster)")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("directory of the evidence: %w", err)
	}
	l := &Log{dir: dir, cluster: cluster, clock: by, max: maxFile}
	if err := l.begin(handle); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// begin locks the directory, and reads what is in it.
func (l *Log) begin(handle func(*Line)) (err error) {
	if l.lock, err = lockDirectory(l.dir); err != nil {
		return err
	}
	names, err := Files(os.DirFS(l.dir))
	if err != nil {
		return err
	}
	recent := lastDays(names)
	for i, name := range names {
		wanted := func([]byte) bool { return true }
		if i < recent {
			wanted = func(text []byte) bool { return bytes.Contains(text, []byte(Denied)) }
		}
		if err := some(filepath.Join(l.dir, name), wanted, handle); err != nil {
			return err
		}
	}
	return l.resume()
}

// lastDays returns the index of the first file of the last two days with files.
func lastDays(names []string) int {
	i, days := len(names)-1, map[string]bool{}
	for ; i >= 0; i-- {
		if days[names[i][dayAt:]] = true; len(days) > 2 {
			break
		}
	}
	return i + 1
}

// Append writes lines and has them on the disk when it returns. It returns the digest at which a file ended, if the
// lines began another one. After an error, some of the lines may be written.
func (l *Log) Append(lines ...*Line) (ended string, err error) {
	if l.file == nil {
		if err := l.resume(); err != nil {
			return "", err
		}
	}
	now := l.clock.Now().UTC()
	if l.file == nil || l.size > l.max || l.day != now.Format(day) {
		if ended, err = l.rotate(now); err != nil {
			return "", err
		}
	}
	var all bytes.Buffer
	previous := l.previous
	for _, line := range lines {
		text, err := line.complete(l.cluster, previous, now)
		if err != nil {
			return "", err
		}
		previous = Digest(text)
		all.Write(append(text, '\n'))
	}
	if _, err = l.file.Write(all.Bytes()); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		err = errors.Join(err, l.closeFile())
		return "", fmt.Errorf("write the evidence: %w", err)
	}
	l.previous = previous
	l.size += int64(all.Len())
	return ended, nil
}

// End ends the open file if it has lines and was begun that long ago, or by an earlier log. An empty file follows it: a
// file gets no more lines when another one follows. The result is the digest at which the file ended, if it did.
func (l *Log) End(age time.Duration) (ended string, err error) {
	now := l.clock.Now().UTC()
	if l.file == nil || l.size == 0 || now.Sub(l.begun) < age {
		return "", nil
	}
	return l.rotate(now)
}

// Close closes the open file, and leaves the directory to other logs.
func (l *Log) Close() error {
	err := l.closeFile()
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
		l.lock = nil
	}
	return err
}

func (l *Log) closeFile() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// rotate begins the next file.
func (l *Log) rotate(now time.Time) (ended string, err error) {
	if l.file != nil {
		ended = l.previous
	}
	if err := l.closeFile(); err != nil {
		return "", fmt.Errorf("close a file of evidence: %w", err)
	}
	name := fmt.Sprintf("evidence-%08d-%s.jsonl", l.number+1, now.Format(day))
	l.file, err = os.OpenFile(filepath.Join(l.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return "", fmt.Errorf("begin a file of evidence: %w", err)
	}
	l.number, l.day, l.size, l.begun = l.number+1, now.Format(day), 0, now
	return ended, syncDirectory(l.dir)
}

// resume opens the last file to append to it. It ends a line that is not complete, and names the gap.
func (l *Log) resume() (err error) {
	if l.lock == nil {
		if l.lock, err = lockDirectory(l.dir); err != nil {
			return err
		}
	}
	names, err := Files(os.DirFS(l.dir))
	if err != nil {
		return err
	}
	l.previous, l.number, l.size = Genesis, 0, 0
	if len(names) == 0 {
		return nil
	}
	name := names[len(names)-1]
	if _, err := fmt.Sscanf(name, "evidence-%08d-%8s", &l.number, &l.day); err != nil {
		return fmt.Errorf("file of evidence %s: %w", name, err)
	}
	for i := len(names) - 1; i >= 0 && l.previous == Genesis; i-- { // a file may have no line yet
		end, err := endOf(filepath.Join(l.dir, names[i]))
		if err != nil {
			return err
		}
		if i == len(names)-1 {
			l.size = end.size
		}
		if end.digest == "" {
			continue
		}
		if l.previous = end.digest; end.torn {
			return l.mend(names[i], name, end.open)
		}
	}
	return l.open(name)
}

func (l *Log) open(name string) (err error) {
	l.file, err = os.OpenFile(filepath.Join(l.dir, name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open the evidence: %w", err)
	}
	return nil
}

// mend ends a line that is not complete, if it has no line end, and appends a line about it to the last file.
func (l *Log) mend(torn, last string, open bool) error {
	if err := l.open(torn); err != nil {
		return err
	}
	if open {
		if _, err := l.file.WriteString("\n"); err != nil {
			return errors.Join(fmt.Errorf("end a line of evidence: %w", err), l.closeFile())
		}
	}
	if torn != last {
		if err := errors.Join(l.file.Sync(), l.closeFile(), l.open(last)); err != nil {
			return err
		}
	}
	now := l.clock.Now().UTC()
	_, err := l.Append(&Line{Type: GapFound, Data: Data{Gap: &Gap{From: now, Until: now, Reason: LineTorn}}})
	return err
}

// end is the end of a file.
type end struct {
	digest string // of the last line; empty without one
	size   int64
	torn   bool // the last line is not complete
	open   bool // it has no line end
}

// endOf returns the end of a file; a line without a line end is its last one.
func endOf(name string) (e end, err error) {
	var last []byte
	err = readFile(name, func(text []byte, ended bool) error {
		last, e.open = text, !ended
		e.size += int64(len(text) + 1)
		return nil
	})
	if e.size > 0 {
		e.digest, e.torn = Digest(last), e.open || !json.Valid(last)
	}
	return e, err
}

// some calls handle with the lines of a file that are wanted, one without a line end among them.
func some(name string, wanted func(text []byte) bool, handle func(*Line)) error {
	return readFile(name, func(text []byte, _ bool) error {
		if l := (&Line{}); wanted(text) && json.Unmarshal(text, l) == nil {
			handle(l)
		}
		return nil
	})
}

func readFile(name string, handle func(text []byte, ended bool) error) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the evidence: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return eachLine(file, name, handle)
}

// syncDirectory has the name of a new file on the disk.
func syncDirectory(dir string) (err error) {
	open, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("directory of the evidence: %w", err)
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	return open.Sync()
}
