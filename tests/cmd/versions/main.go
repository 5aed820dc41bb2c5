// Command versions prints docs/compatibility.md. Its arguments are files written by scripts/test-versions: the
// versions of a control plane and of both Helms, and the output of `go test -json` there.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run reads all files before it prints.
func run(files []string, out io.Writer) error {
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
	_, err := io.WriteString(out, page(all))
	return err
}

func open(name string) (r report, err error) {
	file, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return read(file)
}
