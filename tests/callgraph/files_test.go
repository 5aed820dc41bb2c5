package callgraph

import (
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// recursive are the files that refer to each other, by package. The comparison of pkg/drift descends from maps to
// lists, and from their elements to maps again.
var recursive = map[string][]string{
	"pkg/drift": {"compare.go", "elements.go", "keyed.go", "lists.go", "sets.go", "tampered.go"},
}

// maxMethods bounds the methods of one type.
const maxMethods = 25

// A package can be read file by file: none of its files refers to one that leads back to it. No type has many methods.
func TestReferencesInsideAPackageRunOneWay(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: "../..", Mode: packages.LoadSyntax,
	}, "./pkg/...")
	check.NoError(t, err)
	for _, p := range loaded {
		name := strings.TrimPrefix(p.PkgPath, module)
		if strings.HasPrefix(p.PkgPath, generated) {
			continue
		}
		for _, declared := range p.Types.Scope().Names() {
			named, ok := p.Types.Scope().Lookup(declared).Type().(*types.Named)
			if ok && named.NumMethods() > maxMethods {
				t.Errorf("%s.%s has %d methods", name, declared, named.NumMethods())
			}
		}
		uses := references(p)
		for i, file := range recursive[name] {
			if circleOf(joined(uses, slices.Delete(slices.Clone(recursive[name]), i, i+1))) == nil {
				t.Errorf("%s is listed for %s, and is in no circle", file, name)
			}
		}
		if circle := circleOf(joined(uses, recursive[name])); circle != nil {
			t.Errorf("the files of %s refer to each other in a circle: %s", name, strings.Join(circle, " -> "))
		}
	}
}

// references returns the files with top-level declarations that each file of a package uses.
func references(p *packages.Package) map[string]map[string]bool {
	uses := map[string]map[string]bool{}
	for _, file := range p.Syntax {
		from := filepath.Base(p.Fset.Position(file.Pos()).Filename)
		uses[from] = map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			used := p.TypesInfo.Uses[id]
			if used == nil || used.Pkg() != p.Types {
				return true
			}
			method, ok := used.(*types.Func)
			if used.Parent() == p.Types.Scope() || ok && method.Signature().Recv() != nil {
				if to := filepath.Base(p.Fset.Position(used.Pos()).Filename); to != from {
					uses[from][to] = true
				}
			}
			return true
		})
	}
	return uses
}

// joined returns the references as if some of the files were the first of them.
func joined(uses map[string]map[string]bool, files []string) map[string]map[string]bool {
	name := func(file string) string {
		if slices.Contains(files, file) {
			return files[0]
		}
		return file
	}
	all := map[string]map[string]bool{}
	for from, used := range uses {
		from = name(from)
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		for to := range used {
			if name(to) != from {
				all[from][name(to)] = true
			}
		}
	}
	return all
}

// circleOf returns the files of a circle; nil when there is none.
func circleOf(uses map[string]map[string]bool) []string {
	done := map[string]bool{}
	var visit func(path []string) []string
	visit = func(path []string) []string {
		at := path[len(path)-1]
		if first := slices.Index(path, at); first < len(path)-1 {
			return path[first:]
		}
		if done[at] {
			return nil
		}
		for _, next := range slices.Sorted(maps.Keys(uses[at])) {
			if circle := visit(append(slices.Clone(path), next)); circle != nil {
				return circle
			}
		}
		done[at] = true
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		if circle := visit([]string{file}); circle != nil {
			return circle
		}
	}
	return nil
}
