package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// place is a declaration of the module: a function ("Newest"), a method ("Verifier.Holds"), or a variable.
type place struct{ dir, decl string }

// in returns a place in the package of a directory.
func in(dir, decl string) place { return place{dir, decl} }

// operation is a change of the syntax tree.
type operation string

const (
	skip   operation = "skips"
	never  operation = "never"
	always operation = "always"
	become operation = "becomes"
	set    operation = "sets"
	give   operation = "returns"
)

// fault is a change of a declaration. Symbols are names of functions, methods, fields, constants or variables, also
// qualified by a type or a package ("Record.Same", "release.Newest"). The change is made to the innermost part of the
// declaration, of the kind of the operation, that uses all of them. There has to be exactly one such part.
type fault struct {
	place
	op      operation
	symbols []string
	text    string // Go source
}

// skips leaves out a statement; an if statement together with its branches.
func (p place) skips(symbols ...string) fault { return fault{p, skip, symbols, ""} }

// never evaluates a condition and takes it for false.
func (p place) never(symbols ...string) fault { return fault{p, never, symbols, ""} }

// always evaluates a condition and takes it for true.
func (p place) always(symbols ...string) fault { return fault{p, always, symbols, ""} }

// becomes replaces the use of a symbol by another expression; the whole call of a function.
func (p place) becomes(symbol, text string) fault { return fault{p, become, []string{symbol}, text} }

// sets gives another value to a field of a composite literal, or to an assigned variable or field.
func (p place) sets(symbol, text string) fault { return fault{p, set, []string{symbol}, text} }

// returns ends a function at its start with these results. A variable gets this value.
func (p place) returns(text string) fault { return fault{p, give, nil, text} }

func (f fault) String() string {
	return fmt.Sprintf("%s %s %s %s %s", f.dir, f.decl, f.op, strings.Join(f.symbols, ", "), f.text)
}

// part is a node of the syntax tree with its parent.
type part struct{ node, parent ast.Node }

// change replaces the source between two positions of a file.
type change struct {
	from, to token.Pos
	rewrite  func(source string) string
}

// rewrites are the new sources by operation; the other operations have the text of the fault.
var rewrites = map[operation]string{skip: "if false { %s }", never: "((%s) && false)", always: "((%s) || true)"}

// change returns the change of the source of a package.
func (f fault) change(p *packages.Package) (change, error) {
	decl := declaration(p, f.decl)
	if decl == nil {
		return change{}, fmt.Errorf("%s: there is no %s", f, f.decl)
	}
	text := func(string) string { return f.text }
	if f.op == give {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			at := fn.Body.Lbrace + 1
			return change{at, at, func(string) string { return " if true { return " + f.text + " };" }}, nil
		}
		value := decl.(*ast.ValueSpec).Values[0]
		return change{value.Pos(), value.End(), text}, nil
	}
	found := f.parts(p.TypesInfo, decl)
	if len(found) != 1 {
		return change{}, fmt.Errorf("%s: %d places fit instead of one", f, len(found))
	}
	node := found[0].node
	switch f.op {
	case set:
		node = value(found[0])
	case skip, never, always:
		text = func(source string) string { return fmt.Sprintf(rewrites[f.op], source) }
	}
	return change{node.Pos(), node.End(), text}, nil
}

// declaration returns the function, or the specification of the variable or constant, of that name; nil for none.
func declaration(p *packages.Package, name string) ast.Node {
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				known := names(p.TypesInfo.Defs[d.Name], nil)
				if slices.Contains(known, name) && (d.Recv != nil) == strings.Contains(name, ".") {
					return d
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && v.Names[0].Name == name && len(v.Values) == 1 {
						return v
					}
				}
			}
		}
	}
	return nil
}

// parts returns the innermost parts of a declaration, of the kind of the operation, that use all symbols.
func (f fault) parts(info *types.Info, decl ast.Node) []part {
	var found []part
	ast.PreorderStack(decl, nil, func(n ast.Node, stack []ast.Node) bool {
		if !uses(info, n, stack, f.symbols[0]) {
			return true
		}
		for path := append(slices.Clone(stack), n); len(path) > 1; path = path[:len(path)-1] {
			at := part{path[len(path)-1], path[len(path)-2]}
			if f.fits(info, at, n) && f.hasAll(info, at.node) {
				if !slices.Contains(found, at) {
					found = append(found, at)
				}
				break
			}
		}
		return true
	})
	// Beside another symbol, the wider part is the one that was not meant.
	return slices.DeleteFunc(slices.Clone(found), func(wide part) bool {
		return slices.ContainsFunc(found, func(p part) bool {
			return p != wide && wide.node.Pos() <= p.node.Pos() && p.node.End() <= wide.node.End()
		})
	})
}

// hasAll reports whether a part uses all symbols.
func (f fault) hasAll(info *types.Info, within ast.Node) bool {
	for _, symbol := range f.symbols {
		has := false
		ast.PreorderStack(within, nil, func(n ast.Node, stack []ast.Node) bool {
			has = has || uses(info, n, stack, symbol)
			return !has
		})
		if !has {
			return false
		}
	}
	return true
}

// fits reports whether an operation changes such a part, in which the identifier uses the first symbol.
func (f fault) fits(info *types.Info, at part, identifier ast.Node) bool {
	switch f.op {
	case skip:
		statement, ok := at.node.(ast.Stmt)
		return ok && slices.Contains(statements(at.parent), statement)
	case never, always:
		e, ok := at.node.(ast.Expr)
		if !ok || !info.Types[e].IsValue() {
			return false
		}
		basic, ok := info.Types[e].Type.Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsBoolean != 0 && !isAssigned(at)
	case set:
		return value(at) != nil
	}
	return isUse(at, identifier)
}
