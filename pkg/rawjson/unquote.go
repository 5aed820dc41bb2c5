package rawjson

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote appends to buffer the text that the content of a string stands for, as encoding/json decodes it: what is no
// UTF-8, and half a surrogate pair, become U+FFFD.
func Unquote(buffer, content []byte) ([]byte, error) {
	for i := 0; i < len(content); {
		switch c := content[i]; {
		case c == '\\':
			var err error
			if buffer, i, err = unescape(buffer, content, i+1); err != nil {
				return buffer, err
			}
		case c < utf8.RuneSelf:
			buffer = append(buffer, c)
			i++
		default:
			r, size := utf8.DecodeRune(content[i:])
			buffer = utf8.AppendRune(buffer, r)
			i += size
		}
	}
	return buffer, nil
}

// unescape appends what the escape stands for whose backslash is right before i, and returns the position after it.
func unescape(buffer, content []byte, i int) ([]byte, int, error) {
	if i >= len(content) {
		return buffer, i, ErrSyntax
	}
	switch c := content[i]; c {
	case '"', '\\', '/':
		return append(buffer, c), i + 1, nil
	case 'b':
		return append(buffer, '\b'), i + 1, nil
	case 'f':
		return append(buffer, '\f'), i + 1, nil
	case 'n':
		return append(buffer, '\n'), i + 1, nil
	case 'r':
		return append(buffer, '\r'), i + 1, nil
	case 't':
		return append(buffer, '\t'), i + 1, nil
	case 'u':
		r, ok := hex4(content, i+1)
		if !ok {
			return buffer, i, ErrSyntax
		}
		i += 5
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+1 < len(content) && content[i] == '\\' && content[i+1] == 'u' {
				low, _ = hex4(content, i+2)
			}
			if r = utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
				i += 6
			}
		}
		return utf8.AppendRune(buffer, r), i, nil
	}
	return buffer, i, ErrSyntax
}

func hex4(content []byte, i int) (r rune, ok bool) {
	if i+4 > len(content) {
		return 0, false
	}
	for _, c := range content[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
