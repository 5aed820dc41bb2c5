package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

// action is one run of a command: its flags and arguments, its streams, the clock and the environment.
type action struct {
	cmd  *cli.Command
	name string
	// context is the context of the kubeconfig for one of several clusters; that of the flags when it is empty.
	context     string
	in          io.Reader
	out, errOut io.Writer
	// inTTY, outTTY and errTTY report which of them are terminals.
	inTTY, outTTY, errTTY bool
	// quiet leaves out all output but errors, and questions with the drift that they are about.
	quiet bool
	now   func() time.Time
	env   func(string) string
}

func newAction(name string, in io.Reader, out, errOut io.Writer) *action {
	return &action{name: name, in: in, out: out, errOut: errOut, inTTY: isTerminal(in), outTTY: isTerminal(out),
		errTTY: isTerminal(errOut), now: time.Now, env: os.Getenv}
}

// with returns the action of a command.
func (a *action) with(cmd *cli.Command) *action {
	one := *a
	one.cmd = cmd
	return &one
}

// does returns the library's form of an action.
func (a *action) does(run func(context.Context, *action) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error { return run(ctx, a.with(cmd)) }
}

// misused returns the error for a command line with the reason that it is refused for.
func (a *action) misused(err error) error {
	return command.UsageError(context.Background(), a.cmd, err, true)
}

// write writes a text to the standard output.
func (a *action) write(text string) error {
	_, err := io.WriteString(a.out, text)
	return err
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// newMasker returns a Masker with a new key, so that markers of two runs are unrelated.
func newMasker(show bool) (report.Masker, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return report.Masker{}, fmt.Errorf("make a key: %w", err)
	}
	m := report.NewMasker(key)
	m.Show = show
	return m, nil
}

// width returns how wide a table may be; 0 is without limit. COLUMNS wins over the terminal's own width.
func (a *action) width() int {
	if columns, err := strconv.Atoi(a.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := a.out.(*os.File); ok && a.outTTY {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// style returns the style of the standard output.
func (a *action) style() report.Style {
	switch a.cmd.String("color") {
	case colorAlways:
		return report.Style{Color: true}
	case colorNever:
		return report.Style{}
	}
	return report.Style{Color: a.outTTY && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// note prints a remark outside of the output.
func (a *action) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.errOut, plain.Line(fmt.Sprintf(format, args...)))
	}
}

// progress returns a function that shows the progress of comparing the nth of several releases; nil without a
// terminal.
func (a *action) progress(key release.Key, n, of int) func(done, all int) {
	if !a.errTTY {
		return nil
	}
	which := key.String()
	if of > 1 {
		which = fmt.Sprintf("%d of %d, %s", n, of, key)
	}
	return func(done, all int) {
		fmt.Fprintf(a.errOut, "\r\x1b[K")
		if done < all {
			fmt.Fprintf(a.errOut, "%s", plain.Line(fmt.Sprintf("comparing release %s: %d of %d objects", which, done,
				all)))
		}
	}
}

// confirm asks a question at the terminal. Without a terminal it returns an error.
func (a *action) confirm(question string) (bool, error) {
	if !a.inTTY {
		return false, command.Hinted(errors.New("nothing was changed: there is no terminal to ask at"),
			"--yes does it without asking; --dry-run only looks")
	}
	return ask(a.in, a.errOut, question)
}

// ask reads an answer; anything but yes is no.
func ask(in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question+" [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// each calls do for each of several things. An error belongs to its thing: it is printed, and the others go on.
func each[T any](ctx context.Context, a *action, things []T, do func(T) error) error {
	failed := false
	for _, thing := range things {
		err := do(thing)
		if err != nil && (ctx.Err() != nil || len(things) == 1) {
			return err
		}
		if err != nil {
			fmt.Fprintln(a.errOut, explain(a.name, err))
			failed = true
		}
	}
	if failed {
		return &command.ExitError{Code: command.ExitFailed}
	}
	return nil
}

func (a *action) readAll(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.in)
	}
	return os.ReadFile(name)
}

// quietFlag is the flag that sets action.quiet.
func (a *action) quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Category: categoryOutput,
		Usage: "print only errors, and a question with the drift that it is about",
		Action: func(ctx context.Context, cmd *cli.Command, quiet bool) error {
			if quiet && cmd.String("output") != "" {
				return command.UsageError(ctx, cmd, errors.New("--quiet and --output exclude each other"), true)
			}
			if a.quiet = quiet; quiet {
				a.out, a.errTTY = io.Discard, false // without the progress of comparisons
			}
			return nil
		}}
}
