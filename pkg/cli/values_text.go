package cli

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/rancher/helm-locker/pkg/cli/render"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/values"
)

// mask takes values of Secrets out of answers: those of fields of Secrets, and those quoted elsewhere.
func (v *valued) mask(answers *values.Answers) error {
	if v.masker.Show {
		return nil
	}
	secrets, err := report.ValuesIn(v.details.Manifest)
	if err != nil {
		return command.Hinted(fmt.Errorf("the output may hold values of Secrets, which are not known: %w", err),
			"--show-secrets prints it as it is")
	}
	// Values of live Secrets, and wanted ones of the command line, are in no manifest yet.
	extra := append([]map[string]any{}, v.secrets...)
	for _, a := range answers.Answers {
		if a.ID.Kind != "Secret" || len(a.Path) < 2 {
			continue
		}
		extra = append(extra, map[string]any{"kind": "Secret", a.Path[0]: map[string]any{"wanted": a.Wanted}})
	}
	live := report.ValuesOf(extra...)
	hide := func(value any) any { return v.masker.Value(v.masker.Value(value, secrets), live) }
	for i := range answers.Answers {
		a := &answers.Answers[i]
		v.maskChanges(a.Others, hide)
		hideField := hide
		if a.ID.Kind == "Secret" && len(a.Path) > 0 && strings.HasSuffix(strings.ToLower(a.Path[0]), "data") {
			hideField = v.hideAll
		}
		a.Present, a.Wanted = hideField(a.Present), hideField(a.Wanted)
		for j := range a.Settings {
			s := &a.Settings[j]
			s.Present, s.Wanted = hideField(s.Present), hideField(s.Wanted)
		}
	}
	v.maskNames(answers, live)
	v.maskChanges(answers.Anyway, hide)
	v.maskChanges(answers.Mismatch, hide)
	return nil
}

// hidden takes values of Secrets out of an error of the templates.
func (v *valued) hidden(err error) error {
	var rendering *render.Error
	if v.masker.Show || !errors.As(err, &rendering) {
		return err
	}
	secrets, unclear := report.ValuesIn(v.details.Manifest)
	if unclear != nil {
		return command.Hinted(errors.New("the chart does not render"), "--show-secrets prints why; it may quote a Secret")
	}
	// A part of a value is not recognised, so the text is shortened afterwards.
	text := v.masker.Text(v.masker.Text(rendering.Text, secrets), report.ValuesOf(v.secrets...))
	return errors.New(render.Shortened(text))
}

// maskNames masks the names of new objects and fields: templates make them of any value that they look up.
func (v *valued) maskNames(answers *values.Answers, live report.Values) {
	lists := [][]values.Change{answers.Anyway, answers.Mismatch}
	for _, a := range answers.Answers {
		lists = append(lists, a.Others)
	}
	for _, changes := range lists {
		for i := range changes {
			c := &changes[i]
			if c.Before != nil {
				continue // the recorded manifest has the names
			}
			c.ID.Name, c.ID.Namespace = v.masker.Text(c.ID.Name, live), v.masker.Text(c.ID.Namespace, live)
			for j, segment := range c.Path {
				c.Path[j] = v.masker.Text(segment, live)
			}
		}
	}
}

// hideAll replaces a value by its marker, the same for a text and its base64.
func (v *valued) hideAll(value any) any {
	if value == nil {
		return nil
	}
	text := shownValue(value)
	if s, ok := value.(string); ok {
		text = s
		if decoded, err := base64.StdEncoding.DecodeString(s); err == nil {
			text = string(decoded)
		}
	}
	return v.masker.Mark(text)
}

func (v *valued) maskChanges(changes []values.Change, hide func(any) any) {
	for i := range changes {
		c := &changes[i]
		if c.ID.Kind == "Secret" {
			c.Before, c.After = v.hideAll(c.Before), v.hideAll(c.After)
			continue
		}
		c.Before, c.After = hide(c.Before), hide(c.After)
	}
}

// output prints answers and their commands in a format.
func (v *valued) output(answers *values.Answers, runs []*upgrade, format string) (string, error) {
	if format != formatText {
		return encodeList(kindFieldValues, answersOut(answers, runs), nil, format)
	}
	var b strings.Builder
	for i, a := range answers.Answers {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(v.answerText(answers, a, runs[i]))
	}
	return b.String(), nil
}

// answerText prints one answer. Without a command, run is nil.
func (v *valued) answerText(answers *values.Answers, a values.Answer, run *upgrade) string {
	var b strings.Builder
	id := a.ID
	if id.Namespace == "" {
		id.Namespace = v.details.Namespace
	}
	line := func(name, text string) { fmt.Fprintf(&b, "  %-8s %s\n", name, plain.Line(text)) }
	fmt.Fprintln(&b, plain.Line(fmt.Sprintf("%s  %s: %s -> %s", id, a.Name(), shownField(a.Present, a.Declared),
		shownField(a.Wanted, a.Wanted != nil))))
	if len(a.Settings) == 0 {
		line("governed", "by no value: "+a.Governor)
		return b.String()
	}
	for _, s := range a.Settings {
		line("value", fmt.Sprintf("%s  (%s)", s.Name(), shownField(s.Present, s.Set)))
	}
	changes := "this field only"
	if n := len(a.Others); n > 0 {
		changes = fmt.Sprintf("this field and %s", plain.Count(n, "other field"))
	}
	line("changes", fmt.Sprintf("%s (rendered with chart %s as recorded in revision %d)", changes, answers.Chart,
		v.details.Revision))
	for _, c := range a.Others {
		line("", "and "+changeText(c))
	}
	for _, c := range answers.Anyway {
		line("", "and, as by any upgrade, "+changeText(c))
	}
	if len(answers.Random) > 0 {
		line("", fmt.Sprintf("and %s that each rendering computes", plain.Count(len(answers.Random), "other field")))
	}
	if run != nil {
		line("run", run.text())
	}
	return b.String()
}

func changeText(c values.Change) string {
	if len(c.Path) == 0 {
		if c.Before == nil {
			return c.ID.String() + ", which is new"
		}
		return c.ID.String() + ", which goes"
	}
	return fmt.Sprintf("%s  %s: %s -> %s", c.ID, c.Name(), shownField(c.Before, c.Before != nil),
		shownField(c.After, c.After != nil))
}

// answerOut is an answer as JSON or YAML. Its fields are part of the command's interface.
type answerOut struct {
	Kind      string       `json:"kind"`
	Group     string       `json:"group,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	Path      string       `json:"path"`
	Present   any          `json:"present,omitempty"`
	Wanted    any          `json:"wanted,omitempty"`
	Values    []settingOut `json:"values,omitempty"`
	Others    []changeOut  `json:"otherChanges,omitempty"`
	Governor  string       `json:"governedBy,omitempty"`
	Run       string       `json:"run,omitempty"`
}

type settingOut struct {
	Key     string `json:"key"`
	Present any    `json:"present,omitempty"`
	Wanted  any    `json:"wanted"`
}

type changeOut struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Path      string `json:"path"`
	Before    any    `json:"before,omitempty"`
	After     any    `json:"after,omitempty"`
}

// answersOut returns answers and their commands for programs.
func answersOut(answers *values.Answers, runs []*upgrade) []answerOut {
	out := []answerOut{}
	for i, a := range answers.Answers {
		one := answerOut{Kind: a.ID.Kind, Group: a.ID.Group, Namespace: a.ID.Namespace, Name: a.ID.Name,
			Path: a.Pointer(), Present: a.Present, Wanted: a.Wanted, Governor: a.Governor}
		for _, s := range a.Settings {
			one.Values = append(one.Values, settingOut{s.Name(), s.Present, s.Wanted})
		}
		for _, c := range a.Others {
			one.Others = append(one.Others,
				changeOut{c.ID.Kind, c.ID.Namespace, c.ID.Name, c.Pointer(), c.Before, c.After})
		}
		if run := runs[i]; run != nil && !run.secret {
			one.Run = run.command
		}
		out = append(out, one)
	}
	return out
}

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
