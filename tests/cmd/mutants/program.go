package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// program has the packages that are changed, by their directories.
type program map[string]*packages.Package

// load returns the packages of some mutants, with their syntax and types.
func load(ctx context.Context, root string, all []mutant) (program, error) {
	dirs := map[string]bool{"./" + patience.dir: true}
	for _, m := range all {
		for _, f := range m.faults {
			dirs["./"+f.dir] = true
		}
	}
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: root, Fset: token.NewFileSet(),
		Mode: packages.LoadSyntax}, slices.Sorted(maps.Keys(dirs))...)
	if err != nil {
		return nil, fmt.Errorf("load the packages: %w", err)
	}
	p := program{}
	for _, one := range loaded {
		if len(one.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %w", one.PkgPath, one.Errors[0])
		}
		dir, err := filepath.Rel(root, one.Dir)
		if err != nil {
			return nil, err
		}
		p[filepath.ToSlash(dir)] = one
	}
	return p, nil
}

// sources are changed files, by their paths.
type sources map[string][]byte

// mutate returns the files changed by faults. They compile.
func (p program) mutate(faults ...fault) (sources, error) {
	changed, changes := sources{}, map[string][]change{}
	for _, f := range faults {
		of := p[f.dir]
		if of == nil {
			return nil, fmt.Errorf("%s: there is no package %s", f, f.dir)
		}
		c, err := f.change(of)
		if err != nil {
			return nil, err
		}
		name := of.Fset.Position(c.from).Filename
		changes[name] = append(changes[name], c)
	}
	for name, all := range changes {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(all, func(a, b change) int { return int(b.from - a.from) }) // from the end
		for _, c := range all {
			offset := func(at token.Pos) int { return p[faults[0].dir].Fset.Position(at).Offset }
			from, to := offset(c.from), offset(c.to)
			text = slices.Concat(text[:from], []byte(c.rewrite(string(text[from:to]))), text[to:])
		}
		changed[name] = text
	}
	for _, f := range faults {
		if err := compile(p[f.dir], changed); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return changed, nil
}

// compile returns an error unless a package compiles with changed files.
func compile(p *packages.Package, changed sources) error {
	files := token.NewFileSet()
	syntax := make([]*ast.File, len(p.CompiledGoFiles))
	for i, name := range p.CompiledGoFiles {
		var source any // none is the file itself
		if text, ok := changed[name]; ok {
			source = text
		}
		var err error
		if syntax[i], err = parser.ParseFile(files, name, source, parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	imports := importer{"unsafe": types.Unsafe}
	for _, dependency := range p.Types.Imports() {
		imports[dependency.Path()] = dependency
	}
	_, err := (&types.Config{Importer: imports, Sizes: p.TypesSizes}).Check(p.PkgPath, files, syntax, nil)
	return err
}

// importer has the packages that a package imports already: a change imports no others.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if i[path] == nil {
		return nil, errors.New("no other file imports " + path)
	}
	return i[path], nil
}

// overlay writes the files to a directory, with the list of them for the flag -overlay, and returns the path of that.
func (s sources) overlay(dir string) (string, error) {
	replace := map[string]string{}
	for i, original := range slices.Sorted(maps.Keys(s)) {
		replace[original] = filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(original)))
		if err := os.WriteFile(replace[original], s[original], 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
