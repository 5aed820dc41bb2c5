package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// completing is the argument by which a shell asks what may stand in its place.
const completing = "--generate-shell-completion"

// arrange returns a command line with its command first: a flag means the same before the command and after it.
// Without a command it is the operator's, which is how a container starts it. It stays as it is, for help to be shown,
// when only help or the version is asked for, when the program is a plugin of kubectl or Helm, and when there is no
// argument at all in a terminal. An unknown command is an error.
func arrange(root *cli.Command, args []string, terminal bool) ([]string, error) {
	at, doubtful := commandAt(root, args)
	if at < len(args) && !doubtful {
		if !isCommand(root, args[at]) {
			return nil, unknownCommand(root, args[at])
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
	if root.Name != programBase || slices.ContainsFunc(args, ofRoot) || terminal && len(args) < 2 {
		if len(args) > 2 && args[len(args)-1] == completing && !strings.HasPrefix(args[len(args)-2], "--") {
			return []string{args[0], completing}, nil // a command is to come, after flags and their values
		}
		return args, nil
	}
	return slices.Concat([]string{root.Name, operatorName}, args[min(1, len(args)):]), nil
}

func asksForHelp(argument string) bool { return argument == "--help" || argument == "-h" }

// ofRoot reports whether an argument means the program as a whole.
func ofRoot(argument string) bool {
	return slices.Contains([]string{"--help", "-h", "--version", "-v", completing}, argument)
}

// commandAt returns the index of the command in a command line, or its length. It is doubtful when it is no command,
// and a flag that no command has stands before it: it may be the value of that flag.
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
