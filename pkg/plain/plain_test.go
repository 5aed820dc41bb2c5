package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLineAndBlockNeutralise(t *testing.T) {
	for name, tc := range map[string]struct{ text, line, block string }{
		"plain":        {"a b–ü", "a b–ü", "a b–ü"},
		"line ends":    {"a\r\nb\tc", `a\r\nb\tc`, "a\nb\tc"},
		"escapes":      {"\x1b[31mred\a", `\x1b[31mred\a`, `\x1b[31mred\a`},
		"C1 controls":  {"a\u009bb", `a\u009bb`, `a\u009bb`},
		"direction":    {"a\u202eb", `a\u202eb`, `a\u202eb`},
		"zero width":   {"a\u200bb\ufeff", `a\u200bb\ufeff`, `a\u200bb\ufeff`},
		"joined":       {"👩\u200d🚀 a\u00a0b", "👩\u200d🚀 a\u00a0b", "👩\u200d🚀 a\u00a0b"},
		"broken UTF-8": {"a\xffb", `a\xffb`, `a\xffb`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(tc.text); got != tc.line {
				t.Errorf("line is %q", got)
			}
			if got := Block(tc.text); got != tc.block {
				t.Errorf("block is %q", got)
			}
		})
	}
}

func FuzzLine(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\x1b[2J\nb", "\xff\xfe", "\u202e\u200d\u00a0", "\U0001f600\ufe0f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, block := Line(text), Block(text)
		for _, made := range []string{line, strings.NewReplacer("\n", "", "\t", "").Replace(block)} {
			if at := strings.IndexFunc(made, func(r rune) bool {
				return !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d' && r != '\u00a0'
			}); at >= 0 || !utf8.ValidString(made) {
				t.Errorf("byte %d of %q, made of %q", at, made, text)
			}
		}
		if Line(line) != line || Block(block) != block {
			t.Errorf("it changes twice: %q", text)
		}
	})
}
