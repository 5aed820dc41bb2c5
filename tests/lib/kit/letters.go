package kit

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Letters are the messages of a receiver of notifications.
type Letters struct {
	mu   sync.Mutex
	text strings.Builder
}

// ServeHTTP receives a message.
func (l *Letters) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A truncated message lacks a part of the text.
	_, _ = io.Copy(&l.text, r.Body)
}

// Contain returns an error until a text is in the messages.
func (l *Letters) Contain(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !strings.Contains(l.text.String(), text) {
		return fmt.Errorf("they are %.2000s", l.text.String())
	}
	return nil
}
