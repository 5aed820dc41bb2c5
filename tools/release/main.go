// Command release makes of built binaries and packed charts what a release consists of: an image, bills of materials,
// checksums. scripts/package runs it. Everything it writes depends on its input alone, so that a second run writes the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New(`usage:
  release image -context DIR -out DIR -date TIME -arg NAME=VALUE ... OS/ARCH=BINARY ...
                 write the image of DIR/Dockerfile as an OCI image layout, and print its digest
  release sbom -version VERSION -date TIME BINARY
                 print a bill of materials (CycloneDX, JSON) of what is linked into a Go binary
  release chart -date TIME FILE.tgz ...
                 rewrite packed charts so that they do not tell when and by whom they were packed
  release sums DIR
                 print the SHA-256 of every file below a directory`)

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var (
		context = flags.String("context", "", "")
		target  = flags.String("out", "", "")
		version = flags.String("version", "", "")
		buildBy = arguments{}
		date    moment
	)
	flags.Var(&date, "date", "")
	flags.Var(buildBy, "arg", "")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w\n%w", err, errUsage)
	}
	rest := flags.Args()
	switch args[0] {
	case "image":
		return writeImage(out, *context, *target, buildBy, date.Time, rest)
	case "sbom":
		if len(rest) != 1 {
			return errUsage
		}
		return writeSBOM(out, rest[0], *version, date.Time)
	case "chart":
		for _, file := range rest {
			if err := normalizeChart(file, date.Time); err != nil {
				return err
			}
		}
		return nil
	case "sums":
		if len(rest) != 1 {
			return errUsage
		}
		return writeSums(out, rest[0])
	}
	return errUsage
}

// moment is a flag that takes a time in RFC 3339.
type moment struct{ time.Time }

func (m *moment) String() string { return m.Format(time.RFC3339) }

func (m *moment) Set(value string) (err error) {
	m.Time, err = time.Parse(time.RFC3339, value)
	return err
}

// arguments is a flag that takes NAME=VALUE, and may be repeated.
type arguments map[string]string

func (a arguments) String() string { return "" }

func (a arguments) Set(value string) error {
	name, value, ok := strings.Cut(value, "=")
	if !ok {
		return fmt.Errorf("%q is not NAME=VALUE", name)
	}
	a[name] = value
	return nil
}
