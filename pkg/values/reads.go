package values

import (
	"path"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
)

// reads are the values that templates read, by their text.
type reads struct {
	// templates maps the names of templates, of files or definitions, to their own reads.
	templates map[string]*templateReads
	// charts maps files to the keys of their charts' values.
	charts map[string][]string
}

// templateReads are the reads of one template.
type templateReads struct {
	keys      [][]string
	includes  []string
	functions []string
}

// readsOf scans the templates of a chart and of its sub-charts.
func readsOf(c *chart.Chart) *reads {
	r := &reads{templates: map[string]*templateReads{}, charts: map[string][]string{}}
	r.add(c, c.Name(), nil)
	return r
}

func (r *reads) add(c *chart.Chart, name string, prefix []string) {
	for _, file := range c.Templates {
		full := path.Join(name, file.Name)
		r.charts[full] = prefix
		r.scan(full, string(file.Data))
	}
	for _, d := range c.Dependencies() {
		r.add(d, path.Join(name, "charts", d.Name()), append(slices.Clone(prefix), d.Name()))
	}
}

// scan reads one text. A text that does not parse reads nothing; its error appears in the rendering.
func (r *reads) scan(name, text string) {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	defined := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", defined); err != nil {
		return
	}
	defined[name] = tree
	for name, tree := range defined {
		if tree.Root == nil {
			continue
		}
		s := &scanner{found: &templateReads{}, variables: map[string][]string{}}
		s.list(tree.Root, nil)
		r.templates[name] = s.found
	}
}

// all returns the keys that a file and its includes read, as keys of the whole chart, and the functions called on the
// way.
func (r *reads) all(file string) (keys [][]string, functions []string) {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		found := r.templates[name]
		if found == nil || seen[name] {
			return
		}
		seen[name] = true
		functions = append(functions, found.functions...)
		for _, key := range found.keys {
			if len(key) > 0 && key[0] == "global" {
				keys = append(keys, key)
			}
			keys = append(keys, append(slices.Clone(r.charts[file]), key...))
		}
		for _, included := range found.includes {
			visit(included)
		}
	}
	visit(file)
	return keys, functions
}

// scanner walks one template.
type scanner struct {
	found *templateReads
	// variables maps the variables with values to their keys.
	variables map[string][]string
}

// list walks nodes. dot is the key of the value of the dot; nil for any other.
func (s *scanner) list(list *parse.ListNode, dot []string) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			s.pipe(n.Pipe, dot)
		case *parse.IfNode:
			s.branch(&n.BranchNode, dot, dot)
		case *parse.WithNode:
			s.branch(&n.BranchNode, dot, s.valueOf(n.Pipe, dot))
		case *parse.RangeNode:
			s.branch(&n.BranchNode, dot, nil)
		case *parse.TemplateNode:
			s.found.includes = append(s.found.includes, n.Name)
			s.pipe(n.Pipe, dot)
		}
	}
}

func (s *scanner) branch(n *parse.BranchNode, dot, inner []string) {
	s.pipe(n.Pipe, dot)
	s.list(n.List, inner)
	s.list(n.ElseList, dot)
}

func (s *scanner) pipe(pipe *parse.PipeNode, dot []string) {
	if pipe == nil {
		return
	}
	for _, command := range pipe.Cmds {
		s.command(command, dot)
	}
	if key := s.valueOf(pipe, dot); key != nil && len(pipe.Decl) == 1 {
		s.variables[pipe.Decl[0].Ident[0]] = key
	}
}

func (s *scanner) command(command *parse.CommandNode, dot []string) {
	for i, arg := range command.Args {
		switch n := arg.(type) {
		case *parse.PipeNode:
			s.pipe(n, dot)
			continue
		case *parse.IdentifierNode:
			s.found.functions = append(s.found.functions, n.Ident)
			if name, ok := stringAt(command, i+1); ok && n.Ident == "include" {
				s.found.includes = append(s.found.includes, name)
			}
			continue
		case *parse.ChainNode:
			if inner, ok := n.Node.(*parse.PipeNode); ok {
				s.pipe(inner, dot)
			}
		}
		if key := s.node(arg, dot); key != nil {
			s.found.keys = append(s.found.keys, append(key, s.indexed(command, i)...))
		}
	}
}

// indexed returns the constant keys that index or get look up in an argument.
func (s *scanner) indexed(command *parse.CommandNode, at int) []string {
	function, ok := command.Args[0].(*parse.IdentifierNode)
	if !ok || at != 1 || !slices.Contains([]string{"index", "get"}, function.Ident) {
		return nil
	}
	var keys []string
	for i := 2; i < len(command.Args); i++ {
		key, ok := stringAt(command, i)
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

func stringAt(command *parse.CommandNode, i int) (string, bool) {
	if i >= len(command.Args) {
		return "", false
	}
	n, ok := command.Args[i].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return n.Text, true
}

// valueOf returns the key of the value that a pipeline passes on; nil when it computes another one.
func (s *scanner) valueOf(pipe *parse.PipeNode, dot []string) []string {
	if pipe == nil || len(pipe.Cmds) == 0 || len(pipe.Cmds[0].Args) == 0 {
		return nil
	}
	first := pipe.Cmds[0]
	if key := s.node(first.Args[0], dot); key != nil {
		return key
	}
	if len(first.Args) > 1 {
		if key := s.node(first.Args[1], dot); key != nil {
			if rest := s.indexed(first, 1); rest != nil {
				return append(key, rest...)
			}
		}
	}
	return nil
}

// node returns the key that a node reads; nil for none.
func (s *scanner) node(node parse.Node, dot []string) []string {
	switch n := node.(type) {
	case *parse.FieldNode:
		if key := afterValues(n.Ident); key != nil {
			return key
		}
		if dot != nil {
			return append(slices.Clone(dot), n.Ident...)
		}
	case *parse.DotNode:
		return slices.Clone(dot)
	case *parse.VariableNode:
		if key := afterValues(n.Ident); key != nil {
			return key
		}
		if key := s.variables[n.Ident[0]]; key != nil {
			return append(slices.Clone(key), n.Ident[1:]...)
		}
	case *parse.ChainNode:
		inner, ok := n.Node.(*parse.PipeNode)
		if ok {
			if key := s.valueOf(inner, dot); key != nil {
				return append(slices.Clone(key), n.Field...)
			}
		}
	}
	return nil
}

// afterValues returns the fields after Values in a chain of fields; nil without Values.
func afterValues(fields []string) []string {
	i := slices.Index(fields, "Values")
	if i < 0 {
		return nil
	}
	return append([]string{}, fields[i+1:]...)
}

// usesTemplates reports whether a value is a template itself, for tpl.
func usesTemplates(value any) bool {
	v, ok := value.(string)
	return ok && strings.Contains(v, "{{")
}
