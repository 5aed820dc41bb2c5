package drift

import (
	"strings"
)

// Pointer returns a path as an RFC 6901 pointer.
func Pointer(path ...string) string {
	var b strings.Builder
	for _, segment := range path {
		b.WriteByte('/')
		b.WriteString(escaped.Replace(segment))
	}
	return b.String()
}

var escaped, unescaped = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// parsePointer is the inverse of Pointer.
func parsePointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	segments := strings.Split(pointer[1:], "/")
	for i, s := range segments {
		segments[i] = unescaped.Replace(s)
	}
	return segments
}
