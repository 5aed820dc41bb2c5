package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// record makes the test write the outputs into the walks: docs/developing.md.
var record = flag.Bool("record", false, "write the outputs of docs/walks instead of comparing them")

// isWalk reports whether a page is a transcript: its outputs are those of a run.
func (p *page) isWalk() bool { return strings.HasPrefix(p.path, "docs/walks/") }

// record runs the commands of a walk, and writes their outputs into the page.
func (p *page) record(t *testing.T, s *shell) {
	t.Helper()
	file := filepath.Join(root, p.path)
	text, err := os.ReadFile(file)
	check.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	grown := 0
	for _, b := range p.blocks {
		if b.notRun == "" && b.commands[0].output == nil && !p.follow(t, s, b) {
			return
		}
		for _, c := range b.commands {
			if b.notRun != "" || c.output == nil {
				continue
			}
			out, err := p.settled(s, c)
			check.That(t, err == nil, "%s:%d: %s\n%v", p.path, c.line, c.text, err)
			var printed []string
			if out = strings.TrimRight(out, "\n"); out != "" {
				printed = strings.Split(out, "\n")
			}
			at := c.output.line - 1 + grown
			lines = slices.Replace(lines, at, at+len(c.output.lines), printed...)
			grown += len(printed) - len(c.output.lines)
		}
	}
	check.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644))
}

// settled returns the output of a command: of one that only reads, when it has printed the same twice.
func (p *page) settled(s *shell, c command) (string, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := ""
	for again := 0; ; again++ {
		out, code, err := s.run(c.text)
		if want := exitCode(c.text); err == nil && code != want {
			err = fmt.Errorf("exit code %d, and the page says %d; it prints\n%s", code, want, out)
		}
		if !readOnly.MatchString(c.text) || again > 0 && neutral(out) == neutral(before) || again > 30 {
			return out, err
		}
		before = out
		<-tick.C
	}
}
