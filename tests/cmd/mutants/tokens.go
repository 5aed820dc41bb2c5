package main

import (
	"go/scanner"
	"go/token"
)

// lexeme is one token of Go source and where it stands.
type lexeme struct {
	text       string
	begin, end int
}

// lexemes returns the tokens of Go source, or of a part of it, without comments and without gofmt's additions:
// semicolons at the ends of lines, and commas before a closing bracket.
func lexemes(source string) []lexeme {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), nil, 0)
	var out []lexeme
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		if text == "" || tok == token.SEMICOLON {
			text = tok.String()
		}
		closes := tok == token.RPAREN || tok == token.RBRACE || tok == token.RBRACK
		if n := len(out); closes && n > 0 && out[n-1].text == token.COMMA.String() {
			out = out[:n-1]
		}
		begin := file.Offset(pos)
		out = append(out, lexeme{text, begin, begin + len(text)})
	}
}

// find returns where the tokens of part stand in source: the offsets of begin and end of each such place.
func find(source, part string) [][2]int {
	all, wanted := lexemes(source), lexemes(part)
	var found [][2]int
	for i := 0; len(wanted) > 0 && i+len(wanted) <= len(all); i++ {
		match := true
		for j := range wanted {
			match = match && all[i+j].text == wanted[j].text
		}
		if match {
			found = append(found, [2]int{all[i].begin, all[i+len(wanted)-1].end})
		}
	}
	return found
}
