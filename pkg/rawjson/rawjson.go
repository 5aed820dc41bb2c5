// Package rawjson walks over JSON text without decoding it: it finds the bounds of values and returns parts of the
// text itself. It is made for texts of an API server: it never reads past the text and always ends, but does not
// validate skipped parts.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// ErrSyntax is returned for text that is not JSON, or that ends too early.
var ErrSyntax = errors.New("text that is not JSON")

// Space returns the position of the first byte at or after i that is not white space.
func Space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// Skip returns the end of the value at i.
func Skip(text []byte, i int) (end int, err error) {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i, err = skipString(text, i); err != nil {
				return i, err
			}
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			return skipWord(text, i)
		}
		if depth == 0 {
			return i, nil
		}
		if depth < 0 {
			break
		}
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

// skipWord skips a number, true, false or null: the text up to the next delimiter.
func skipWord(text []byte, i int) (end int, err error) {
	length := bytes.IndexAny(text[i:], ",]}:\"{[ \n\r\t")
	switch {
	case length == 0:
		return i, ErrSyntax
	case length < 0:
		return len(text), nil
	}
	return i + length, nil
}

// String returns the content of the string at i, and the position after its closing quote. The content is mostly a
// part of the text.
func String(text []byte, i int) (content []byte, end int, err error) {
	if i >= len(text) || text[i] != '"' {
		return nil, i, ErrSyntax
	}
	if end, err = skipString(text, i); err != nil {
		return nil, end, err
	}
	content = text[i+1 : end-1]
	if bytes.IndexByte(content, '\\') < 0 && utf8.Valid(content) {
		return content, end, nil
	}
	var unquoted string
	if json.Unmarshal(text[i:end], &unquoted) != nil {
		return nil, i, ErrSyntax
	}
	return []byte(unquoted), end, nil
}

// Walk calls each for every entry of the object, or element of the list, at i, with the position of its value; each
// returns the end of the value. Elements have no name. An error of each ends the walk.
func Walk(text []byte, i int, each func(name []byte, at int) (end int, err error)) (end int, err error) {
	if i >= len(text) || text[i] != '{' && text[i] != '[' {
		return i, ErrSyntax
	}
	object, closing := text[i] == '{', text[i]+2 // '{' and '}' are two apart, and so are '[' and ']'
	i = Space(text, i+1)
	if i < len(text) && text[i] == closing {
		return i + 1, nil
	}
	for {
		var name []byte
		if object {
			if name, i, err = String(text, i); err != nil {
				return i, err
			}
			if i = Space(text, i); i >= len(text) || text[i] != ':' {
				return i, ErrSyntax
			}
			i = Space(text, i+1)
		}
		if i, err = each(name, i); err != nil {
			return i, err
		}
		i = Space(text, i)
		switch {
		case i < len(text) && text[i] == closing:
			return i + 1, nil
		case i < len(text) && text[i] == ',':
			i = Space(text, i+1)
		default:
			return i, ErrSyntax
		}
	}
}
