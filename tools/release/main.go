// Command release turns binaries and packed charts into a release: an image, bills of materials, checksums, signatures.
// scripts/package and scripts/release run it. Its output depends only on its input, so a second run writes the same.
// Signatures differ, because ECDSA is randomized.
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
  release image -context DIR -out DIR -date TIME -arg NAME=VALUE ... -staged PATH=FILE ...
                OS/ARCH:PATH=BINARY ...
                 write the image of DIR/Dockerfile as an OCI image layout, and print its digest; FILE and
                 BINARY stand for what the build stage writes to PATH
  release sbom -version VERSION -date TIME BINARY
                 print a bill of materials (CycloneDX, JSON) of what is linked into a Go binary
  release chart -date TIME FILE.tgz ...
                 rewrite packed charts so that they do not tell when and by whom they were packed
  release man -version VERSION -date TIME FILE
                 print the command reference, which is Markdown, as a manual page
  release sums DIR
                 print the SHA-256 of every file below a directory but for its signatures
  release sign -key FILE -repository NAME -version VERSION -commit COMMIT -go VERSION DIR
                 sign the release in DIR in cosign's formats, and attest where it comes from. The private key is PEM,
                 and COSIGN_PASSWORD its password if it has one. NAME is the image without a tag`)

// options are the flags of all commands.
type options struct {
	context, out, version, commit, goVersion, key, repository string
	arguments, staged                                         pairs
	date                                                      moment
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	o := options{arguments: pairs{}, staged: pairs{}}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.context, "context", "", "")
	flags.StringVar(&o.out, "out", "", "")
	flags.StringVar(&o.version, "version", "", "")
	flags.StringVar(&o.commit, "commit", "", "")
	flags.StringVar(&o.goVersion, "go", "", "")
	flags.StringVar(&o.key, "key", "", "")
	flags.StringVar(&o.repository, "repository", "", "")
	flags.Var(&o.date, "date", "")
	flags.Var(o.arguments, "arg", "")
	flags.Var(o.staged, "staged", "")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w\n%w", err, errUsage)
	}
	return o.run(args[0], flags.Args(), out)
}

// run runs one command with the arguments that are not flags.
func (o options) run(command string, rest []string, out io.Writer) error {
	switch {
	case command == "image":
		return writeImage(out, o, rest)
	case command == "chart":
		for _, file := range rest {
			if err := normalizeChart(file, o.date.Time); err != nil {
				return err
			}
		}
		return nil
	case len(rest) != 1:
		return errUsage
	case command == "sbom":
		return writeSBOM(out, rest[0], o.version, o.date.Time)
	case command == "man":
		return writeMan(out, rest[0], o.version, o.date.Time)
	case command == "sums":
		return writeSums(out, rest[0])
	case command == "sign":
		return signRelease(o, rest[0])
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

// pairs is a flag that takes NAME=VALUE, and may be repeated.
type pairs map[string]string

func (p pairs) String() string { return "" }

func (p pairs) Set(value string) error {
	name, value, ok := strings.Cut(value, "=")
	if !ok {
		return fmt.Errorf("%q is not NAME=VALUE", name)
	}
	p[name] = value
	return nil
}
