package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
)

// longest bounds a line.
const longest = 4 << 20

// fileName is the name of a file: a number, which orders the files, and the day of its first line.
var fileName = regexp.MustCompile(`^evidence-[0-9]{8}-[0-9]{8}\.jsonl$`)

// dayAt is the index of the day in the name of a file.
const dayAt = len("evidence-00000001-")

// Number returns the part of the name of a file that orders the files, and "" for any other name.
func Number(name string) string {
	if !fileName.MatchString(name) {
		return ""
	}
	return name[:dayAt]
}

// Chain is the result of reading a directory.
type Chain struct {
	// Files is the number of files with lines.
	Files int `json:"files"`
	Lines int `json:"lines"`
	// Head is the digest of the last line. A copy of it elsewhere proves that no line was cut off the end.
	Head string `json:"head"`
	// Begins is set when the first file is missing, with those after it: the digest before the first line.
	Begins string `json:"begins,omitempty"`
	// Broken names the first line that does not follow the one before it.
	Broken string `json:"broken,omitempty"`
	// Torn names the last line if it is not complete: its writer was killed, or has not written all of it yet.
	Torn string `json:"torn,omitempty"`
}

// Files returns the names of the files of a directory in their order.
func Files(dir fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("read the evidence: %w", err)
	}
	var names []string
	for _, e := range entries {
		if fileName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Read calls handle with each line of a directory in their order, until the first line that breaks the chain. The
// result names it. The error is that of the file system, or of handle.
func Read(dir fs.FS, handle func(*Line) error) (*Chain, error) {
	names, err := Files(dir)
	if err != nil {
		return nil, err
	}
	r := &reading{Chain: Chain{Head: Genesis}, handle: handle}
	for _, name := range names {
		if err := r.file(dir, name); err != nil || r.Broken != "" {
			return &r.Chain, err
		}
	}
	if len(names) == 0 {
		return nil, errors.New("read the evidence: the directory has no file of it")
	}
	r.Torn = r.torn
	return &r.Chain, nil
}

// reading is the state of reading a directory.
type reading struct {
	Chain
	handle func(*Line) error
	// torn describes the last line if it is not complete: the next one has to name the gap.
	torn string
}

func (r *reading) file(dir fs.FS, name string) (err error) {
	file, err := dir.Open(name)
	if err != nil {
		return fmt.Errorf("read the evidence: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	number := 0
	return eachLine(file, name, func(text []byte, ended bool) error {
		if number++; number == 1 {
			r.Files++
		}
		if r.Broken != "" {
			return nil
		}
		return r.line(fmt.Sprintf("%s, line %d", name, number), text, ended)
	})
}

// eachLine calls handle with the lines of a file. ended is set for one with a line end.
func eachLine(file io.Reader, name string, handle func(text []byte, ended bool) error) error {
	in := bufio.NewReaderSize(file, 64<<10)
	for {
		text, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && len(text) == 0:
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("read the evidence: %s: %w", name, err)
		}
		if err := handle(text, err == nil); err != nil {
			return err
		}
	}
}

// line checks and handles a line. ended is set for one with a line end.
func (r *reading) line(where string, text []byte, ended bool) error {
	l := &Line{}
	whole := json.Unmarshal(text, l) == nil
	completes := whole && l.Data.Gap != nil && l.Data.Gap.Reason == LineTorn
	if r.Lines == 0 && r.torn == "" && whole && l.Previous != Genesis {
		r.Begins, r.Head = l.Previous, l.Previous
	}
	switch {
	case r.torn != "" && !completes:
		r.Broken = r.torn
		return nil
	case !whole || !ended:
		r.torn, r.Head = where+": it is not complete", Digest(text)
		return nil
	case l.Previous != r.Head:
		r.Broken = where + ": it does not follow the line before it"
		return nil
	}
	r.torn, r.Head = "", Digest(text)
	r.Lines++
	return r.handle(l)
}

// readLine returns a line without its end, and io.EOF for the last one if it has no end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := in.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case len(all) > longest:
			return nil, errors.New("it is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return bytes.TrimSuffix(all, []byte("\n")), err
	}
}
