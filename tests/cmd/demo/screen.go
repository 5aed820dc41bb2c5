package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Styles are ANSI escape sequences.
const (
	styleBold  = "\x1b[1m"
	styleDim   = "\x1b[2m"
	styleRed   = "\x1b[31m"
	styleGreen = "\x1b[32m"
	styleCyan  = "\x1b[36m"
	styleReset = "\x1b[0m"
)

// screen prints the timeline. It is used from one goroutine, and by the build of the control plane as a writer.
type screen struct {
	out    *os.File
	colour bool
}

// newScreen returns a screen with colours on a terminal only, and none where NO_COLOR is set (https://no-color.org).
func newScreen(out *os.File) *screen {
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &screen{out: out, colour: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s *screen) style(style, text string) string {
	if !s.colour {
		return text
	}
	return style + text + styleReset
}

// act begins a part of the demo.
func (s *screen) act(title string) { fmt.Fprintf(s.out, "\n%s\n", s.style(styleBold, "== "+title)) }

// line prints an actor and a text with the current time.
func (s *screen) line(who, text string) {
	fmt.Fprintf(s.out, "%s  %-8s  %s\n", s.style(styleDim, time.Now().Format("15:04:05.000")), who, text)
}

// command prints a command line of the person.
func (s *screen) command(commandLine string) { s.line("person", s.style(styleCyan, "$ "+commandLine)) }

// verdict prints an observation and its result.
func (s *screen) verdict(ok bool, who, seen, verdict string) {
	style := styleRed
	if ok {
		style = styleGreen
	}
	if seen != "" {
		seen += "  "
	}
	s.line(who, seen+s.style(style, verdict))
}

// indent is the width of line's prefix.
const indent = 24

// output prints a command's output.
func (s *screen) output(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(s.out, strings.Repeat(" ", indent)+strings.TrimRight(line, " \n"))
	}
}

// Write prints the progress of builds, a line each.
func (s *screen) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.line("demo", strings.TrimRight(line, "\n"))
	}
	return len(p), nil
}
