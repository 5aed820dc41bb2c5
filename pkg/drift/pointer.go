package drift

import "strings"

// Pointer returns a path as an RFC 6901 pointer.
func Pointer(path ...string) string { return string(appendPointer(nil, path)) }

var escaped, unescaped = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// appendPointer appends path as an RFC 6901 pointer.
func appendPointer(b []byte, path []string) []byte {
	for _, segment := range path {
		b = append(append(b, '/'), escaped.Replace(segment)...)
	}
	return b
}

// parsePointer is the inverse of appendPointer.
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
