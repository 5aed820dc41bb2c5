package main

import (
	"go/ast"
	"go/types"
	"slices"
)

// names returns the names of an object: alone, and qualified by its package or by the type of its method or field.
func names(o types.Object, selection *types.Selection) []string {
	if o == nil {
		return nil
	}
	all := []string{o.Name()}
	if o.Pkg() != nil && o.Parent() == o.Pkg().Scope() {
		all = append(all, o.Pkg().Name()+"."+o.Name())
	}
	var of types.Type
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		of = f.Signature().Recv().Type()
	} else if selection != nil {
		of = selection.Recv()
	}
	if p, ok := of.(*types.Pointer); ok {
		of = p.Elem()
	}
	if n, ok := of.(*types.Named); ok {
		all = append(all, n.Obj().Name()+"."+o.Name())
	}
	return all
}

// uses reports whether a node is an identifier that stands for a symbol.
func uses(info *types.Info, n ast.Node, stack []ast.Node, symbol string) bool {
	id, ok := n.(*ast.Ident)
	if !ok {
		return false
	}
	var selection *types.Selection
	if len(stack) > 0 {
		if s, ok := stack[len(stack)-1].(*ast.SelectorExpr); ok && s.Sel == id {
			selection = info.Selections[s]
		}
	}
	return slices.Contains(names(info.ObjectOf(id), selection), symbol)
}

// statements returns the statements of a block or a case.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CommClause:
		return n.Body
	case *ast.CaseClause:
		return n.Body
	}
	return nil
}

// value returns the expression that a key or an assignment gives; nil for other nodes.
func value(at part) ast.Node {
	switch parent := at.parent.(type) {
	case *ast.KeyValueExpr:
		if parent.Key == at.node {
			return parent.Value
		}
	case *ast.AssignStmt:
		for i := range parent.Lhs {
			if parent.Lhs[i] == at.node && len(parent.Lhs) == len(parent.Rhs) {
				return parent.Rhs[i]
			}
		}
	}
	return nil
}

func isAssigned(at part) bool {
	a, ok := at.parent.(*ast.AssignStmt)
	e, isExpr := at.node.(ast.Expr)
	return ok && isExpr && slices.Contains(a.Lhs, e)
}

// isUse reports whether a node is all of the use of an identifier: with its selector, and its call.
func isUse(at part, identifier ast.Node) bool {
	if s, ok := at.parent.(*ast.SelectorExpr); ok && s.Sel == at.node {
		return false
	}
	if c, ok := at.parent.(*ast.CallExpr); ok && c.Fun == at.node {
		return false
	}
	use := at.node
	if c, ok := use.(*ast.CallExpr); ok {
		use = c.Fun
	}
	if s, ok := use.(*ast.SelectorExpr); ok {
		use = s.Sel
	}
	return use == identifier && value(at) == nil
}
