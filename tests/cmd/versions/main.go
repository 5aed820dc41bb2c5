// Command versions prints docs/compatibility.md. Its arguments are files written by scripts/test-versions: the
// versions of a control plane and of both Helms, and the output of `go test -json` there.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run("docs/compatibility.md", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run reads all files before it prints. The section of the neighbours is that of the present page.
func run(present string, files []string, out io.Writer) error {
	if len(files) == 0 {
		return errors.New("no report is given: name files of dist/versions")
	}
	var all []report
	for _, name := range files {
		r, err := open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	kept, err := neighbours(present)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, page(all)+kept)
	return err
}

// neighbours returns the section of a page that make test-neighbours writes.
func neighbours(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("keep the section of the neighbours: %w", err)
	}
	const title = "\n## Real neighbours\n"
	_, section, found := strings.Cut(string(text), title)
	if !found {
		return "", fmt.Errorf("%s has no section of real neighbours", name)
	}
	return title + section, nil
}

func open(name string) (r report, err error) {
	file, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return read(file)
}
