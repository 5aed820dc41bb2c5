package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rancher/helm-locker/pkg/rawjson"
)

// streamBuffer is how much is read ahead of a watch: an event or two.
const streamBuffer = 8 << 10

// framer splits a stream into JSON values. It does not depend on how they are laid out in lines.
type framer struct{}

func (framer) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frameReader{Closer: r, stream: bufio.NewReaderSize(r, streamBuffer)}
}

func (framer) NewFrameWriter(w io.Writer) io.Writer { return w }

// frameReader is what streaming.NewDecoder reads from: every Read returns one value, or, with io.ErrShortBuffer, as
// much of it as fits.
type frameReader struct {
	io.Closer
	stream *bufio.Reader
	line   int // how much is left of a line that is a value
	depth  int
	quoted bool // within a string
	escape bool // after a backslash
}

func (r *frameReader) Read(buffer []byte) (n int, err error) {
	for n < len(buffer) {
		if _, err := r.stream.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && (n > 0 || r.depth > 0 || r.line > 0) {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
		ready, err := r.stream.Peek(r.stream.Buffered())
		if err != nil {
			return n, err
		}
		if n == 0 && r.depth == 0 && r.line == 0 {
			if gap := rawjson.Space(ready, 0); gap > 0 {
				if _, err := r.stream.Discard(gap); err != nil {
					return n, err
				}
				continue
			}
			r.line = lineOf(ready)
		}
		length, whole, err := r.part(ready[:min(len(ready), len(buffer)-n)])
		if err != nil {
			return n, err
		}
		n += copy(buffer[n:], ready[:length])
		if _, err := r.stream.Discard(length); err != nil {
			return n, err
		}
		if whole {
			return n, nil
		}
	}
	return n, io.ErrShortBuffer
}

// lineOf returns the length of the value that text begins with if it is written on one line, as API servers do; zero if
// that cannot be told at a glance. Writers that use more lines begin with a line that has but a brace.
func lineOf(text []byte) int {
	length := bytes.IndexByte(text, '\n')
	if length < 0 || !bytes.HasPrefix(text, []byte(`{"`)) {
		return 0
	}
	if line := bytes.TrimRight(text[:length], " \t\r"); line[len(line)-1] == '}' {
		return len(line)
	}
	return 0
}

// part returns how much of text belongs to the value, and whether the value ends with it.
func (r *frameReader) part(text []byte) (length int, whole bool, err error) {
	if r.line == 0 {
		return r.scan(text)
	}
	length = min(len(text), r.line)
	r.line -= length
	return length, r.line == 0, nil
}

// scan is part for a value of which every byte has to be looked at.
func (r *frameReader) scan(text []byte) (length int, whole bool, err error) {
	for i := 0; i < len(text); i++ {
		if r.quoted {
			if i = r.scanString(text, i); i == len(text) {
				break
			}
			continue
		}
		switch text[i] {
		case '"':
			r.quoted = true
		case '{', '[':
			r.depth++
		case '}', ']':
			if r.depth--; r.depth == 0 {
				return i + 1, true, nil
			}
		}
		if r.depth <= 0 {
			return 0, false, fmt.Errorf("a stream of events: %w", rawjson.ErrSyntax)
		}
	}
	return len(text), false, nil
}

// scanString returns the position of the quote that ends the string which is being read, or the length of text if
// it goes on.
func (r *frameReader) scanString(text []byte, i int) int {
	for ; i < len(text); i++ {
		if r.escape {
			r.escape = false
			continue
		}
		length := bytes.IndexByte(text[i:], '"')
		if length < 0 {
			length = len(text) - i
		}
		if escape := bytes.IndexByte(text[i:i+length], '\\'); escape >= 0 {
			i += escape
			r.escape = true
			continue
		}
		if i += length; i < len(text) {
			r.quoted = false
		}
		return i
	}
	return i
}
