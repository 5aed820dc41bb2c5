// Package rawjson walks over JSON text without decoding it: it finds where values begin and end and hands out parts
// of the text itself, so that looking at two fields of a large object costs one pass and no memory. It is made for
// what an API server sends. It never reads past the text and always ends, but it does not prove the text to be
// JSON: what it skips it only measures. Whoever needs that proof decodes.
package rawjson

import (
	"bytes"
	"errors"
)

// ErrSyntax is returned for text that is not JSON, or that ends too early.
var ErrSyntax = errors.New("text that is not JSON")

// Space returns the position of the first byte at or after i that is not white space.
func Space(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ' ', '\n', '\r', '\t':
			i++
		default:
			return i
		}
	}
	return i
}

// Skip returns the end of the value that begins at i, which is the position of its first byte.
func Skip(text []byte, i int) (end int, err error) {
	if i >= len(text) {
		return i, ErrSyntax
	}
	switch c := text[i]; c {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipNested(text, i)
	default:
		return skipWord(text, i)
	}
}

// skipNested skips an object or a list by counting what opens and closes outside of strings.
func skipNested(text []byte, i int) (end int, err error) {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i, err = skipString(text, i); err != nil {
				return i, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return i, ErrSyntax
}

// skipString skips a string: up to the first quote with an even number of backslashes before it.
func skipString(text []byte, i int) (end int, err error) {
	for first := i + 1; ; {
		length := bytes.IndexByte(text[i+1:], '"')
		if length < 0 {
			return len(text), ErrSyntax
		}
		i += 1 + length
		slashes := i
		for slashes > first && text[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i + 1, nil
		}
	}
}

// skipWord skips a number, true, false or null: all that runs up to the next delimiter.
func skipWord(text []byte, i int) (end int, err error) {
	for end = i; end < len(text); end++ {
		switch text[end] {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\n', '\r', '\t':
			if end == i {
				return i, ErrSyntax
			}
			return end, nil
		}
	}
	return end, nil
}

// String returns what is between the quotes of the string that begins at i, and the position after its closing quote.
// Content with escapes in it is not plain: Unquote makes text of it. Plain content may still be invalid UTF-8.
func String(text []byte, i int) (content []byte, end int, plain bool, err error) {
	if i >= len(text) || text[i] != '"' {
		return nil, i, false, ErrSyntax
	}
	i++
	length := bytes.IndexByte(text[i:], '"')
	if length < 0 {
		return nil, len(text), false, ErrSyntax
	}
	escape := bytes.IndexByte(text[i:i+length], '\\')
	if escape < 0 {
		return text[i : i+length], i + length + 1, true, nil
	}
	for end = i + escape; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			return text[i:end], end + 1, false, nil
		}
	}
	return nil, len(text), false, ErrSyntax
}

// Object calls each for every entry of the object that begins at i, with what is between the quotes of its name (see
// String) and the position of its value; each returns the end of the value. An error of each ends the walk, too.
func Object(text []byte, i int, each func(name []byte, plain bool, at int) (end int, err error)) (end int, err error) {
	if i >= len(text) || text[i] != '{' {
		return i, ErrSyntax
	}
	i = Space(text, i+1)
	if i < len(text) && text[i] == '}' {
		return i + 1, nil
	}
	for {
		name, after, plain, err := String(text, i)
		if err != nil {
			return i, err
		}
		if i = Space(text, after); i >= len(text) || text[i] != ':' {
			return i, ErrSyntax
		}
		if i, err = each(name, plain, Space(text, i+1)); err != nil {
			return i, err
		}
		i = Space(text, i)
		switch {
		case i < len(text) && text[i] == ',':
			i = Space(text, i+1)
		case i < len(text) && text[i] == '}':
			return i + 1, nil
		default:
			return i, ErrSyntax
		}
	}
}

// Array calls each for every element of the list that begins at i, with its position; each returns its end. An error of
// each ends the walk, too.
func Array(text []byte, i int, each func(at int) (end int, err error)) (end int, err error) {
	if i >= len(text) || text[i] != '[' {
		return i, ErrSyntax
	}
	i = Space(text, i+1)
	if i < len(text) && text[i] == ']' {
		return i + 1, nil
	}
	for {
		if i, err = each(i); err != nil {
			return i, err
		}
		i = Space(text, i)
		switch {
		case i < len(text) && text[i] == ',':
			i = Space(text, i+1)
		case i < len(text) && text[i] == ']':
			return i + 1, nil
		default:
			return i, ErrSyntax
		}
	}
}
