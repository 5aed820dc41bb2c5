package clitest

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// onFirst returns a writer that forwards everything, and calls do once, in a new goroutine, when a text has been
// written.
func onFirst(w io.Writer, text string, do func()) io.Writer {
	return &listener{w: w, text: text, do: do}
}

type listener struct {
	w    io.Writer
	text string
	do   func()

	mu   sync.Mutex
	seen bytes.Buffer
	once sync.Once
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Write(p)
	if strings.Contains(l.seen.String(), l.text) {
		l.once.Do(func() { go l.do() })
	}
	return l.w.Write(p)
}
