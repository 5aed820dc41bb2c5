package main

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestScreensAreParsed(t *testing.T) {
	got := parseScreen("$ cmd\n\x1b[1mNAME\x1b[0m  x\n\x1b[31m-  a\n+ b\x1b[39m c\x1b[2m d\x1b[0m\n\x1b[m  \n$ \n\n\n")
	want := [][]span{
		{{0, "$ cmd", style{}}},
		{{0, "NAME", style{bold: true}}, {4, "  x", style{}}},
		{{0, "-  a", style{color: 1}}},
		{{0, "+ b", style{color: 1}}, {3, " c", style{}}, {5, " d", style{dim: true}}},
		{{0, "  ", style{}}},
	}
	check.That(t, reflect.DeepEqual(got, want), "got  %+v\nwant %+v", got, want)
}

func TestPicturesAreXMLAndKeepColumnsAndColours(t *testing.T) {
	svg := draw("a & b", 80, parseScreen("  <secret 1f> \x1b[32mok\x1b[0m"))
	for _, part := range []string{`<title>a &amp; b</title>`, `>&lt;secret 1f&gt;<`,
		`<text x="125.2" y="47" textLength="15.6" lengthAdjust="spacingAndGlyphs" class="c2">ok</text>`} {
		check.That(t, strings.Contains(svg, part), "%s is not in\n%s", part, svg)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
