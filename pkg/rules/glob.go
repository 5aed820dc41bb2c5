package rules

import "unicode/utf8"

// Glob reports whether a pattern matches all of a text. In the pattern, * stands for any text, also an empty one, and
// ? for one character. Its time is at most the product of both lengths, and it allocates nothing.
func Glob(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0 // behind the last *, and where in the text its match ends so far
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, resume = p, t
			continue
		}
		_, size := utf8.DecodeRuneInString(text[t:])
		switch {
		case p < len(pattern) && pattern[p] == '?':
			p, t = p+1, t+size
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(text[resume:])
			resume += size
			p, t = star, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
