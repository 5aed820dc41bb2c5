package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// shared is the control plane of this package; nil with -short.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{ControllerManager: true}, func(c *cluster.Cluster) { shared = c }))
}

// advice explains a failure to readers who do not know the rules.
const advice = `
To do: correct the page. Or, where that is what is meant, write so in the page (docs/developing.md has the rules):
  a command that is to fail     # exit code 2          at the end of its line
  a command that goes on        # until Ctrl-C         at the end of its line, alone in its block
  a block that cannot run here  <!-- not run: why -->  above the block
  output that is cut            [...]                  on a line of its own; what is no output at all is a text block after some prose
  what is there at the start    <!-- given: operator, shop, lock -->  above the first block`

// TestEveryCommandInTheDocuments runs the commands of each page, in order, as a reader would, in a cluster with only
// the objects the page names as given, and compares their output with the page.
func TestEveryCommandInTheDocuments(t *testing.T) {
	if shared == nil {
		t.Skip("needs a control plane")
	}
	list, err := pages()
	check.Must(t, err == nil, "%v %v", err, advice)
	r := newReader(t)
	var notRun []string
	for _, p := range list {
		for _, b := range p.blocks {
			if b.notRun != "" {
				notRun = append(notRun, p.notRun(t, b)...)
			}
		}
		helms := map[string]string{"": shared.Binaries().Helm4}
		if slices.Contains(p.given, "helm 3 and 4") {
			helms = map[string]string{" with Helm 3": shared.Binaries().Helm3, " with Helm 4": shared.Binaries().Helm4}
		}
		for with, helm := range helms {
			if slices.ContainsFunc(p.blocks, func(b *block) bool { return b.notRun == "" }) {
				t.Run(strings.ReplaceAll(p.path, "/", "_")+with, func(t *testing.T) { r.read(t, p, helm) })
			}
		}
	}
	t.Logf("not run:\n%s", strings.Join(notRun, "\n"))
	for path, test := range elsewhere {
		t.Logf("%s is run by %s", path, test)
	}
}

var (
	makeTarget = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	goRun      = regexp.MustCompile(`\bgo run (\./\S+)`)
)

// notRun lists the commands of a block that is not run. The existence of the called programs can still be checked.
func (p *page) notRun(t *testing.T, b *block) []string {
	t.Helper()
	makefile := read(t, "Makefile")
	var list []string
	for _, c := range b.commands {
		list = append(list, fmt.Sprintf("  %s:%d: %s (%s)", p.path, c.line, strings.Split(c.text, "\n")[0], b.notRun))
		for _, m := range makeTarget.FindAllStringSubmatch(c.text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s:%d: the Makefile has no target %s", p.path, c.line, m[1])
			}
		}
		for _, m := range goRun.FindAllStringSubmatch(c.text, -1) {
			_, err := os.Stat(filepath.Join(root, m[1]))
			check.That(t, err == nil, "%s:%d: %v", p.path, c.line, err)
		}
	}
	return list
}

// readOnly are commands that may be repeated until their output matches the page: a cluster takes its time.
var readOnly = regexp.MustCompile(
	`^(?:kubectl|helm[34]?|helm-locker)(?: helm-locker| locker)? (?:-\S+ (?:[^-\s]\S* )?)*(?:get|describe|events|list|status|history|diff|inspect)\b`,
)

func exitCode(text string) int {
	for line := range strings.SplitSeq(text, "\n") {
		if m := exitComment.FindStringSubmatch(line); m != nil {
			if code, err := strconv.Atoi(m[1]); err == nil {
				return code
			}
		}
	}
	return 0
}

// follow runs a block, and reports whether to go on with the page.
func (p *page) follow(t *testing.T, s *shell, b *block) bool {
	t.Helper()
	if len(b.commands) == 1 && strings.Contains(b.commands[0].text, goesOn) {
		if err := s.start(b.commands[0], b.output); err != nil {
			t.Fatalf("%s:%d: %v", p.path, b.commands[0].line, err)
		}
		// A reader continues once there is an output: earlier states are not the point of the command.
		if b.output != nil {
			if err := p.eventually(true, s.jobs[len(s.jobs)-1].hasBegun); err != nil {
				t.Errorf("%s:%d: %v%s", p.path, b.commands[0].line, err, advice)
				return false
			}
		}
		return true
	}
	printed := make([]string, len(b.commands))
	for i, c := range b.commands {
		if m := makeTarget.FindStringSubmatch(c.text); len(m) > 1 && m[1] != "build" {
			t.Errorf("%s:%d: make %s takes long, or starts more than a page should; it has to be marked as not run%s",
				p.path, c.line, m[1], advice)
			return false
		}
		if strings.Contains(c.text, goesOn) {
			t.Errorf("%s:%d: a command that goes on has to be alone in its block%s", p.path, c.line, advice)
			return false
		}
		problem := p.eventually(readOnly.MatchString(c.text), func() (err error) {
			printed[i], err = p.runOnce(s, c)
			return err
		})
		if problem != nil {
			t.Errorf("%s:%d: %s\n%v%s", p.path, c.line, c.text, problem, advice)
			return false
		}
	}
	if b.output == nil {
		return true
	}
	// Commands that change something are not repeated; read-only ones after the last change are.
	looks := len(b.commands)
	for looks > 0 && readOnly.MatchString(b.commands[looks-1].text) {
		looks--
	}
	first := true
	problem := p.eventually(looks < len(b.commands), func() (err error) {
		for i := looks; i < len(b.commands) && !first; i++ {
			if printed[i], err = p.runOnce(s, b.commands[i]); err != nil {
				return err
			}
		}
		first = false
		return differs(b.output.lines, strings.Join(printed, ""))
	})
	check.That(t, problem == nil, "%s:%d: %v%s", p.path, b.output.line, problem, advice)
	return true
}

// runOnce runs a command, and checks its exit code and, in a console block, its output.
func (p *page) runOnce(s *shell, c command) (string, error) {
	out, code, err := s.run(c.text)
	if err != nil {
		return out, err
	}
	if want := exitCode(c.text); code != want {
		return out, fmt.Errorf("exit code %d, and the page says %d; it prints\n%s", code, want,
			show(strings.Split(strings.TrimSpace(out), "\n")))
	}
	if c.output != nil {
		return out, differs(c.output.lines, out)
	}
	return out, nil
}

// eventually tries once or, if it may be repeated, until there is no error or patience is over.
func (p *page) eventually(repeat bool, try func() error) error {
	deadline := time.Now().Add(patience / 2)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil || !repeat || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}

// settle waits until a running command has printed the output on the page, and interrupts it. By then it may have
// printed more.
func (p *page) settle(t *testing.T, j *job) {
	t.Helper()
	problem := p.eventually(true, func() error {
		out, err := j.printed()
		if err != nil || j.promised == nil {
			return err
		}
		return differs(append(slices.Clone(j.promised.lines), "[...]"), out)
	})
	err := j.interrupt()
	check.That(t, err == nil, "%s:%d: %s: %v%s", p.path, j.line, j.text, err, advice)
	check.That(t, problem == nil, "%s:%d: %v%s", p.path, j.line, problem, advice)
}
