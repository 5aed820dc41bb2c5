package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A mutant with a compile error proves nothing about the tests.
func TestMutantsCompile(t *testing.T) {
	c := newCompiler(t)
	for _, m := range mutants() {
		t.Run(m.String(), func(t *testing.T) {
			changed := map[string][]edit{} // by package
			for _, e := range m.edits() {
				changed[path.Dir(e.file)] = append(changed[path.Dir(e.file)], e)
			}
			for dir, edits := range changed {
				if err := c.compile(dir, edits...); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestTheCompilerNoticesWhatDoesNotCompile(t *testing.T) {
	c := newCompiler(t)
	const file = "tests/cmd/mutants/overlay.go"
	for name, tc := range map[string]struct {
		new string
		ok  bool
	}{
		"as it is":              {`"encoding/json" // a remark`, true},
		"an import is missing":  {`"encoding/xml"`, false},
		"it is not even parsed": {`"encoding/json`, false},
	} {
		if err := c.compile("tests/cmd/mutants", edit{file, `"encoding/json"`, tc.new}); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// compiler checks the types of packages of the module, with some edits, and the rest as it is built.
type compiler struct {
	root     string
	files    *token.FileSet
	packages map[string]listed // by directory, from the root of the module
	imports  types.Importer
}

// listed is a package in the output of `go list`.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles",
		"./...")
	list.Dir, list.Stderr = root, os.Stderr
	text, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := &compiler{root: root, files: token.NewFileSet(), packages: map[string]listed{}}
	exports := map[string]string{}
	for all := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p listed
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if dir, err := filepath.Rel(root, p.Dir); err == nil && filepath.IsLocal(dir) {
			c.packages[filepath.ToSlash(dir)] = p
		}
	}
	c.imports = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("nothing of the module imports %s", path)
		}
		return os.Open(exports[path])
	})
	return c
}

// compile returns an error unless a package compiles with edits of its files.
func (c *compiler) compile(dir string, edits ...edit) error {
	p, ok := c.packages[dir]
	if !ok {
		return fmt.Errorf("%s is no package", dir)
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		text := string(source)
		for _, e := range edits {
			if path.Base(e.file) != name {
				continue
			}
			if text, err = e.apply(text); err != nil {
				return err
			}
		}
		file, err := parser.ParseFile(c.files, name, text, 0)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err := (&types.Config{Importer: c.imports}).Check(p.ImportPath, c.files, files, nil)
	return err
}
