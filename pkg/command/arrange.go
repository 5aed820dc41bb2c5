package command

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// ErrNoCommand is the error for flags without a command.
var ErrNoCommand = errors.New("no command")

// Completing is the shell's argument for a completion request.
const Completing = "--generate-shell-completion"

// Arrange returns a command line with its command first: a flag has one meaning before the command and after it.
// Arguments without a command are those of the command named fallback. They stay as they are where fallback is empty,
// and where they ask for help or for the version. An unknown command is an error.
func Arrange(root *cli.Command, args []string, fallback string) ([]string, error) {
	at, doubtful := commandAt(root, args)
	if at < len(args) && !doubtful {
		if !isCommand(root, args[at]) {
			return nil, Unknown(root, args[at])
		}
		rest := slices.Concat(args[1:at], args[at+1:])
		if slices.ContainsFunc(rest, asksForHelp) {
			rest = []string{"--help"} // the library would take an argument for a topic
		}
		if args[at] == "completion" && slices.Equal(rest, []string{"powershell"}) {
			rest[0] = "pwsh" // as the library calls it
		}
		return slices.Concat(args[:1], args[at:at+1], rest), nil
	}
	if fallback == "" || slices.ContainsFunc(args, ofRoot) {
		if len(args) > 2 && args[len(args)-1] == Completing && !strings.HasPrefix(args[len(args)-2], "--") {
			return []string{args[0], Completing}, nil // a command is to come, after flags and their values
		}
		if len(args) > 1 && !slices.ContainsFunc(args, ofRoot) {
			return nil, Hinted(ErrNoCommand, "see "+root.Name+" --help for all commands")
		}
		return args, nil
	}
	return slices.Concat([]string{root.Name, fallback}, args[min(1, len(args)):]), nil
}

func asksForHelp(argument string) bool { return argument == "--help" || argument == "-h" }

// ofRoot reports whether an argument means the program as a whole.
func ofRoot(argument string) bool {
	return slices.Contains([]string{"--help", "-h", "--version", "-v", Completing}, argument)
}

// commandAt returns the index of the command in a command line, or its length. It is doubtful for an unknown command
// after an unknown flag: it may be the value of that flag.
func commandAt(root *cli.Command, args []string) (at int, doubtful bool) {
	takesValue := map[string]bool{}
	for _, cmd := range root.Commands {
		for _, flag := range cmd.Flags {
			_, isBool := flag.(*cli.BoolFlag)
			for _, name := range flag.Names() {
				takesValue[name] = !isBool
			}
		}
	}
	for i := 1; i < len(args); i++ {
		name, _, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			return i, doubtful && !isCommand(root, args[i])
		}
		takes, known := takesValue[name]
		if doubtful = doubtful || !known && !ofRoot(args[i]); takes && !hasValue {
			i++
		}
	}
	return len(args), doubtful
}

// isCommand reports whether root has a command, or the library adds it.
func isCommand(root *cli.Command, name string) bool {
	return root.Command(name) != nil || slices.Contains([]string{"help", "h", "completion"}, name)
}
