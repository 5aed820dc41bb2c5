package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// Sentence returns a text with its first letter in upper case.
func Sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// FlagTable renders flags by their category, in the order in which the categories come first.
func FlagTable(b *strings.Builder, flags []cli.Flag) {
	var categories []string
	for _, flag := range flags {
		if category := CategoryOf(flag); !slices.Contains(categories, category) {
			categories = append(categories, category)
		}
	}
	for _, category := range categories {
		fmt.Fprintf(b, "| %s | |\n| --- | --- |\n", category)
		for _, flag := range flags {
			if CategoryOf(flag) == category {
				fmt.Fprintf(b, "| %s | %s |\n", flagNames(flag), flagUsage(flag))
			}
		}
		b.WriteString("\n")
	}
}

// CategoryOf returns the category of a flag in the help text.
func CategoryOf(flag cli.Flag) string {
	if categorized, ok := flag.(cli.CategorizableFlag); ok && categorized.GetCategory() != "" {
		return categorized.GetCategory()
	}
	return "General"
}

// flagNames returns the names of a flag with the placeholder of its value, for example "`-n`, `--namespace NAMESPACE`".
func flagNames(flag cli.Flag) string {
	var short, long []string
	value, _ := Placeholder(flag)
	for _, name := range flag.Names() {
		if len(name) == 1 {
			short = append(short, "`-"+name+"`")
		} else {
			long = append(long, "`--"+strings.TrimSpace(name+" "+value)+"`")
		}
	}
	return strings.Join(append(short, long...), ", ")
}

// Placeholder returns the quoted word of a flag's usage, which stands for its value, and the usage with it unquoted.
func Placeholder(flag cli.Flag) (value, usage string) {
	documented, ok := flag.(cli.DocGenerationFlag)
	if !ok {
		return "", ""
	}
	usage = documented.GetUsage()
	if before, rest, found := strings.Cut(usage, "`"); found {
		if word, after, closed := strings.Cut(rest, "`"); closed {
			return word, before + word + after
		}
	}
	if documented.TakesValue() {
		return strings.ToUpper(documented.TypeName()), usage
	}
	return "", usage
}

func flagUsage(flag cli.Flag) string {
	_, usage := Placeholder(flag)
	text := EscapeMarkdown(usage)
	documented, ok := flag.(cli.DocGenerationFlag)
	if !ok {
		return text
	}
	if value := strings.Trim(documented.GetValue(), `"`); documented.IsDefaultVisible() &&
		!slices.Contains([]string{"", "[]", "0", "false"}, value) {
		text += fmt.Sprintf(" (default `%s`)", value)
	}
	if variables := documented.GetEnvVars(); len(variables) > 0 {
		text += fmt.Sprintf("; `%s`", strings.Join(variables, "`, `"))
	}
	return text
}

// EscapeMarkdown keeps Markdown from reading markers and pointers as its own.
func EscapeMarkdown(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(text)
}
