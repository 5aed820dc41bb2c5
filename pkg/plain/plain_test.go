package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rancher/helm-locker/tests/lib/check"
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
			check.Equal(t, Line(tc.text), tc.line, "line")
			check.Equal(t, Block(tc.text), tc.block, "block")
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
		check.That(t, Line(line) == line && Block(block) == block, "it changes twice: %q", text)
	})
}
