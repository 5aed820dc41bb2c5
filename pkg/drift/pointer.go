package drift

import "strings"

// Pointer returns a path as an RFC 6901 pointer.
func Pointer(path ...string) string { return string(appendPointer(nil, path)) }

// appendPointer appends path as an RFC 6901 pointer.
func appendPointer(b []byte, path []string) []byte {
	for _, segment := range path {
		b = append(b, '/')
		for i := 0; i < len(segment); i++ {
			switch segment[i] {
			case '~':
				b = append(b, '~', '0')
			case '/':
				b = append(b, '~', '1')
			default:
				b = append(b, segment[i])
			}
		}
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
		if strings.Contains(s, "~") {
			segments[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
		}
	}
	return segments
}
