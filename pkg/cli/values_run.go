package cli

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/values"
)

// upgrade is the command that sets the values of an answer.
type upgrade struct {
	command string
	// secret is set when the command holds a value of a Secret, which must not be printed.
	secret bool
}

// text returns the command, or the reason not to print it: a reader would run it as it stands.
func (u *upgrade) text() string {
	switch {
	case u.secret:
		return "not printed, because it holds a value of a Secret: see --show-secrets"
	case plain.Line(u.command) != u.command:
		return "not printed, because it holds characters that a terminal hides: see -o json"
	}
	return u.command
}

// upgrades returns the command of each answer; nil for an answer without values, and while the chart does not render to
// the recorded manifest. hide takes the values of Secrets out of the answers. A command that differs afterwards holds
// one.
func (v *valued) upgrades(answers *values.Answers, hide func(*values.Answers) error) ([]*upgrade, error) {
	runs := make([]*upgrade, len(answers.Answers))
	for i, a := range answers.Answers {
		if len(a.Settings) == 0 || len(answers.Mismatch) > 0 {
			continue
		}
		command, err := v.run(answers.Chart, a.Settings)
		if err != nil {
			return nil, err
		}
		runs[i] = &upgrade{command: command}
	}
	if err := hide(answers); err != nil {
		return nil, err
	}
	for i, run := range runs {
		if run == nil {
			continue
		}
		command, err := v.run(answers.Chart, answers.Answers[i].Settings)
		run.secret = err != nil || command != run.command
	}
	return runs, nil
}

// run returns the command that makes some settings. A package whose name would be a flag is named by its path: the name
// of a chart is the text of a tenant.
func (v *valued) run(chart string, settings []values.Setting) (string, error) {
	file := cmp.Or(v.archive, chart+".tgz")
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	words := []string{"helm", "upgrade", v.details.Name, file, "-n", v.details.Namespace, "--reset-then-reuse-values"}
	for _, s := range settings {
		flag, argument, err := s.Flag()
		if err != nil {
			return "", err
		}
		words = append(words, flag, argument)
	}
	for i, word := range words {
		words[i] = quoted(word)
	}
	return strings.Join(words, " "), nil
}

var harmless = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoted returns a word as a shell takes it.
func quoted(word string) string {
	if harmless.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
