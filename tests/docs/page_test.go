package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// elsewhere are pages whose commands another test runs, because they need a separate setup.
var elsewhere = map[string]string{"docs/cli.md": "TestEveryCommandInTheReference"}

// page is a document with commands.
type page struct {
	path string // from the top of the repository
	// given are the objects that exist before the first command.
	given []string
	// blocks are those with commands, in their order.
	blocks []*block
	// yaml are the blocks in that language.
	yaml []fence
}

// block is a fenced block with commands and their expected output.
type block struct {
	commands []command
	// notRun is the reason for not running its commands, or empty.
	notRun string
	// output is the expected output; nil where the page has none.
	output *fence
}

// command is typed at once: a line, or several if it continues.
type command struct {
	line int
	text string
	// output is the text below the command in a console block; nil in other blocks.
	output *fence
}

// fence is a fenced block as it stands.
type fence struct {
	language string
	line     int // of the first line inside
	lines    []string
	// comment is the HTML comment above it, if there is one with nothing but blank lines in between.
	comment string
	// adjacent reports that only blank lines separate it from the previous fence.
	adjacent bool
}

var (
	htmlComment = regexp.MustCompile(`^\s*<!--\s*(.*?)\s*-->\s*$`)
	fenceMark   = regexp.MustCompile("^(\\s*)(`{3,})([a-z]*)\\s*$")
	indented    = regexp.MustCompile(`^(?:    |\t)(make|kubectl|helm|helm3|helm4|helm-locker|go|docker) `)
	exitComment = regexp.MustCompile(`#.*\bexit code (\d+)`)
)

const (
	// goesOn is the comment on a command that runs until it is interrupted.
	goesOn = "until Ctrl-C"
	// notRun begins the comment above a block that is not run.
	notRun = "not run:"
)

// pages returns the documents that have commands.
func pages() ([]*page, error) {
	var paths []string
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "docs/*.md", "docs/walks/*.md", "charts/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	var list []*page
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		if elsewhere[name] != "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// parse reads a page. Its errors have their line.
func parse(path, text string) (*page, error) {
	p := &page{path: path}
	fences, err := p.fences(text)
	if err != nil {
		return nil, err
	}
	for i := range fences {
		f := &fences[i]
		reason, marked := "", strings.HasPrefix(f.comment, notRun)
		if marked {
			reason = strings.TrimSpace(strings.TrimPrefix(f.comment, notRun))
		}
		commands := f.language == "sh" || f.language == "console" && strings.HasPrefix(f.first(), "$ ")
		if marked && (reason == "" || !commands) {
			return nil, fmt.Errorf("%s:%d: \"not run:\" stands above a block of commands, and says why", path, f.line-1)
		}
		switch {
		case f.language == "bash" || f.language == "shell":
			return nil, fmt.Errorf("%s:%d: blocks of commands are ```sh", path, f.line-1)
		case f.language == "sh":
			b := &block{notRun: reason}
			if b.commands, err = split(f.line, f.lines); err != nil {
				return nil, fmt.Errorf("%s:%w", path, err)
			}
			p.blocks = append(p.blocks, b)
		case commands:
			b := &block{notRun: reason}
			if b.commands, err = splitConsole(f.line, f.lines); err != nil {
				return nil, fmt.Errorf("%s:%w", path, err)
			}
			p.blocks = append(p.blocks, b)
		case f.language == "console", f.language == "text" && f.adjacent && i > 0 && fences[i-1].language == "sh":
			if len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].output != nil {
				return nil, fmt.Errorf(
					"%s:%d: this output belongs to no block of commands; what is no output is ```text", path, f.line-1,
				)
			}
			p.blocks[len(p.blocks)-1].output = f
		case f.language == "yaml":
			p.yaml = append(p.yaml, *f)
		}
	}
	if p.given == nil {
		p.given = p.usual()
	}
	return p, nil
}

func (f *fence) first() string {
	if len(f.lines) == 0 {
		return ""
	}
	return f.lines[0]
}

// fences returns the fenced blocks of a page, and reads what it says is given.
func (p *page) fences(text string) ([]fence, error) {
	var (
		list     []fence
		current  *fence
		mark     string
		margin   string
		comment  string
		adjacent bool
	)
	for i, line := range strings.Split(text, "\n") {
		found := fenceMark.FindStringSubmatch(line)
		switch {
		case current != nil && found != nil && found[2] == mark && found[3] == "":
			list = append(list, *current)
			current, adjacent = nil, true
		case current != nil:
			current.lines = append(current.lines, strings.TrimPrefix(line, margin))
		case found != nil:
			current = &fence{language: found[3], line: i + 2, comment: comment, adjacent: adjacent}
			margin, mark, comment = found[1], found[2], ""
		case htmlComment.MatchString(line):
			comment = htmlComment.FindStringSubmatch(line)[1]
			if given, ok := strings.CutPrefix(comment, "given:"); ok {
				if len(list) > 0 && slices.ContainsFunc(list, func(f fence) bool { return f.language == "sh" }) {
					return nil, fmt.Errorf("%s:%d: \"given:\" stands above the first block of commands", p.path, i+1)
				}
				p.given = splitList(given)
			}
		case indented.MatchString(line) && comment == "" && (i == 0 || !strings.HasPrefix(strings.TrimSpace(line), "-")):
			return nil, fmt.Errorf("%s:%d: commands stand in ```sh blocks, or nobody runs them", p.path, i+1)
		case strings.TrimSpace(line) != "":
			comment, adjacent = "", false
		}
	}
	if current != nil {
		return nil, fmt.Errorf("%s:%d: this block does not end", p.path, current.line-1)
	}
	return list, nil
}

func splitList(text string) []string {
	list := []string{}
	for item := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}

// usual returns the default of given: an operator and a release, unless the page installs them itself.
func (p *page) usual() []string {
	given := map[string]bool{"operator": true, "shop": true}
	for _, b := range p.blocks {
		for _, c := range b.commands {
			for item, installs := range map[string]string{"operator": "helm-locker charts/helm-locker",
				"shop": " shop tests/cmd/demo/charts/shop"} {
				if b.notRun == "" && strings.Contains(c.text, "install") && strings.Contains(c.text, installs) {
					given[item] = false
				}
			}
		}
	}
	return slices.DeleteFunc([]string{"operator", "shop"}, func(item string) bool { return !given[item] })
}
